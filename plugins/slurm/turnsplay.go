package slurm

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gridbroker/batch"
)

// turn is a job that waits, and how much it takes of what is short.
type turn struct {
	j     *batch.Job
	wants map[string]int
}

// turnsDepth is how many jobs that do not get what they want others are looked for behind, each time something
// comes free: Slurm's default_queue_depth.
const turnsDepth = 100

// short chooses what is short.
func (t *turns) short(wants map[string]int) map[string]int {
	maps.DeleteFunc(wants, func(what string, _ int) bool {
		_, short := t.have[what]
		return !short
	})
	return wants
}

// play finds out for whose ends jobs wait, by limits and as if all nodes were free: each time somebody ends who has
// something of what is short, those get it, in order, for whom there is enough, as Slurm passes by those
// for whom there is not.
func (t *turns) play(queue []turn) {
	t.free, t.sum = map[string][]holder{}, map[string]int{}
	for what, n := range t.left {
		t.free[what], t.sum[what] = []holder{{amount: n}}, n
	}
	queue = slices.DeleteFunc(queue, func(q turn) bool { return len(q.wants) == 0 })
	for at := t.now; len(queue) > 0; {
		if queue = t.start(queue, at); len(queue) == 0 {
			return
		}
		end, any := t.ends()
		if !any { // more than all that is known of: what is left is not
			t.take(queue[0], at)
			queue = queue[1:]
		}
		at = later(at, end)
	}
}

// start lets jobs have what they want where there is enough, and returns the others.
func (t *turns) start(queue []turn, at time.Time) []turn {
	passed, i := 0, 0
	for ; i < len(queue) && passed < turnsDepth; i++ {
		if q := queue[i]; t.enough(q.wants) {
			t.take(q, at)
		} else {
			queue[passed] = q
			passed++
		}
	}
	return slices.Delete(queue, passed, i)
}

// enough tells whether as much is free.
func (t *turns) enough(wants map[string]int) bool {
	for what, amount := range wants {
		if t.sum[what] < amount {
			return false
		}
	}
	return true
}

// ends takes in the next end of those who have something, with all others of the same time.
func (t *turns) ends() (at time.Time, any bool) {
	for _, list := range t.have {
		if len(list) > 0 && (!any || list[0].end.Before(at)) {
			at, any = list[0].end, true
		}
	}
	for what, list := range t.have {
		for len(list) > 0 && !list[0].end.After(at) {
			t.free[what], t.sum[what], list = append(t.free[what], list[0]), t.sum[what]+list[0].amount, list[1:]
		}
		t.have[what] = list
	}
	return at, any
}

// take lets a job have what it wants from a time on: of what came free last, so that it waits for no more
// ends than need be.
func (t *turns) take(q turn, at time.Time) {
	j := q.j
	for what, amount := range q.wants {
		list := t.free[what]
		for n := len(list); amount > 0 && n > 0; n = len(list) {
			h := &list[n-1]
			if h.amount == 0 {
				list = list[:n-1]
				continue
			}
			part := min(amount, h.amount)
			amount, h.amount, t.sum[what] = amount-part, h.amount-part, t.sum[what]-part
			if h.id == "" {
				j.Begin = later(j.Begin, h.end)
			} else if !slices.ContainsFunc(j.After, func(d batch.Dependency) bool { return d.ID == h.id }) {
				j.After = append(j.After, batch.Dependency{ID: h.id, On: batch.OnEnd})
			}
		}
		t.free[what] = list
	}
	slices.SortFunc(j.After, func(a, b batch.Dependency) int { return cmp.Compare(a.ID, b.ID) })
	for what, amount := range q.wants {
		t.holds(what, holder{j.ID, amount, at.Add(j.Requested)})
	}
}
