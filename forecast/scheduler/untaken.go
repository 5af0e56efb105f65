package scheduler

import "context"

// untakenOf is of how many of the last launches at a cluster none was taken where something is wrong there, and not with a job;
// untakenMost bounds how many launches are looked at in all.
const (
	untakenOf   = 3
	untakenMost = 10_000
)

// notTheClusters tells whether a launch ended without its cluster's doing.
func notTheClusters(said string) bool {
	switch said {
	case byOwner, isOver, errExpired.Error(), errNameless.Error(), errOtherVO.Error(), errUnshown.Error(), errLapsed.Error():
		return true
	}
	return false
}

// Untaken tells of the clusters at which none of the last three launches was taken what was said of the last.
func Untaken(ctx context.Context, s *Store) (map[string]string, error) {
	last, refused, taken := map[string]string{}, map[string]int{}, map[string]bool{}
	err := s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var cluster, said string
			err := scan(&cluster, &said)
			switch {
			case notTheClusters(said):
			case said == "" && refused[cluster] < untakenOf:
				taken[cluster] = true
			case said != "":
				if refused[cluster]++; refused[cluster] == 1 {
					last[cluster] = said
				}
			}
			return err
		}, `select booking.cluster, action.result from action join booking on booking.key = substr(action.key, length(action.verb) + 2)
			where action.verb = $1 and action.done = 1 order by action.id desc limit $2`, string(launch), untakenMost)
	})
	for cluster := range last {
		if taken[cluster] || refused[cluster] < untakenOf {
			delete(last, cluster)
		}
	}
	return last, err
}
