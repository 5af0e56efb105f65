package tree

import (
	"cmp"
	"context"
	"sort"
)

// full runs the jobs under a scheduler that knows everything at once: a job
// starts at home if it fits there, else in the system with the fewest free
// nodes that suffice. After every single event the whole queue is looked through.
type full struct {
	jobs   []Job
	ranks  ranks
	free   []int
	queue  []int
	starts []Start
	strict bool
	cal    calendar
}

func runFull(ctx context.Context, nodes []int, jobs []Job, strict bool, horizon int64) ([]Start, error) {
	f := &full{jobs: jobs, ranks: ranksOf(jobs), free: append([]int(nil), nodes...), starts: make([]Start, len(jobs)), strict: strict}
	for i := range jobs {
		f.starts[i].System = -1
		f.cal.add(jobs[i].Submit, submit, 0, i)
	}
	n := 0
	for e, ok := f.cal.next(); ok && e.at <= horizon; e, ok = f.cal.next() {
		if n++; n%lookEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if e.kind == submit {
			f.enqueue(e.what)
		} else {
			f.free[e.who] += jobs[e.what].Width
		}
		f.look(e.at)
	}
	return f.starts, nil
}

func (f *full) enqueue(i int) {
	at := sort.Search(len(f.queue), func(k int) bool {
		o := f.queue[k]
		a, b := &f.jobs[i], &f.jobs[o]
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Submit, b.Submit), cmp.Compare(f.ranks.of[i], f.ranks.of[o])) < 0
	})
	f.queue = append(f.queue, 0)
	copy(f.queue[at+1:], f.queue[at:])
	f.queue[at] = i
}

func (f *full) look(now int64) {
	kept := f.queue[:0]
	for k, i := range f.queue {
		s := -1
		if !f.strict || len(kept) == 0 {
			s = f.choose(&f.jobs[i])
		}
		if s < 0 {
			kept = append(kept, f.queue[k])
			continue
		}
		f.free[s] -= f.jobs[i].Width
		f.starts[i] = Start{System: s, At: now}
		f.cal.add(now+f.jobs[i].Run, end, s, i)
	}
	f.queue = kept
}

func (f *full) choose(j *Job) int {
	if f.free[j.Home] >= j.Width {
		return j.Home
	}
	best := -1
	for s, free := range f.free {
		if free >= j.Width && (best < 0 || free < f.free[best]) {
			best = s
		}
	}
	return best
}
