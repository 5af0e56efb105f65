package scheduler

import "context"

// untakenOf is of how many of the last launches at a cluster none was taken where something is wrong there, and not with a job;
// untakenMost bounds how many launches are looked at in all.
const (
	untakenOf   = 3
	untakenMost = 10_000
)

// Untaken tells of the clusters at which none of the last three launches was taken what was said of the last. Of what a
// program of the version before has ended only what was taken counts: it left no kind, and of that no words.
func Untaken(ctx context.Context, s *Store) (map[string]string, error) {
	last, refused, taken := map[string]string{}, map[string]int{}, map[string]bool{}
	err := s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var cluster, said string
			var how ending
			err := scan(&cluster, &how, &said)
			if how == "" && said == "" {
				how = endedWell
			}
			switch how {
			case endedWell:
				taken[cluster] = taken[cluster] || refused[cluster] < untakenOf
			case endedBad:
				if refused[cluster]++; refused[cluster] == 1 {
					last[cluster] = said
				}
			}
			return err
		}, `select booking.cluster, action.ending, action.result from action join booking on booking.key = substr(action.key, length(action.verb) + 2)
			where action.verb = $1 and action.done = 1 order by action.id desc limit $2`, string(launch), untakenMost)
	})
	for cluster := range last {
		if taken[cluster] || refused[cluster] < untakenOf {
			delete(last, cluster)
		}
	}
	return last, err
}
