package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// lineup is a queue in memory, of jobs that have not ended. They are those that its one leader has, too, and changes.
type lineup struct {
	seq  int64 // of the last of them
	jobs map[string]*Job
	ids  map[named]string
	of   map[string]int64 // how many each owner has
	kept *statements      // where their files are
	// left is told of each that nobody will say anything of any more.
	left func(id string)
}

// enter implements queue.
func (q *lineup) enter(_ context.Context, jobs []*Job) (map[named]string, error) {
	ids := make(map[named]string, len(jobs))
	for _, j := range jobs {
		of := named{j.Owner, j.Key}
		if q.ids[of] != "" {
			continue
		}
		q.seq++
		j.Seq, q.jobs[j.ID] = q.seq, j
		ids[of], q.ids[of] = j.ID, j.ID
		q.of[j.Owner]++
	}
	return ids, nil
}

// before implements queue.
func (q *lineup) before(_ context.Context, owner string, keys []string) (map[named]string, error) {
	ids := make(map[named]string, len(keys))
	for _, key := range keys {
		if id, there := q.ids[named{owner, key}]; there {
			ids[named{owner, key}] = id
		}
	}
	return ids, nil
}

// held implements queue.
func (q *lineup) held(ctx context.Context, owners []string, files bool) (map[string]held, error) {
	of := make(map[string]held, len(owners))
	for _, owner := range owners {
		of[owner] = held{open: q.of[owner]}
	}
	if !files {
		return of, nil
	}
	err := q.kept.rows(ctx, func(scan func(...any) error) error {
		var id string
		var size int64
		err := scan(&id, &size)
		if j := q.jobs[id]; j != nil && slices.Contains(owners, j.Owner) {
			has := of[j.Owner]
			has.disk += size
			of[j.Owner] = has
		}
		return err
	}, "select job, size from file")
	return of, err
}

// open implements queue.
func (q *lineup) open(context.Context) ([]*Job, error) {
	return slices.SortedFunc(maps.Values(q.jobs), func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) }), nil
}

// these implements queue.
func (q *lineup) these(_ context.Context, ids []string) (list []*Job, err error) {
	for _, id := range ids {
		if j := q.jobs[id]; j != nil {
			list = append(list, j)
		}
	}
	return list, nil
}

// job implements queue.
func (q *lineup) job(_ context.Context, id string) (*Job, error) {
	if j := q.jobs[id]; j != nil {
		return new(*j), nil
	}
	return nil, nil
}

// save implements queue.
func (q *lineup) save(context.Context, []*Job) error { return nil }

// over implements queue.
func (q *lineup) over(jobs map[string]*Job) {
	for id, j := range jobs {
		if j.State.Final() {
			q.drop(id)
			q.left(id)
		}
	}
}

// remove implements queue.
func (q *lineup) remove(_ context.Context, id string) error {
	q.drop(id)
	return nil
}

func (q *lineup) drop(id string) {
	if j := q.jobs[id]; j != nil {
		delete(q.ids, named{j.Owner, j.Key})
		delete(q.jobs, id)
		if q.of[j.Owner]--; q.of[j.Owner] == 0 {
			delete(q.of, j.Owner)
		}
	}
}
