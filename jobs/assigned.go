package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"gridbroker/plugins"
)

// A tree of managers runs no jobs: it gets a job a place at some site. A job that waits in a tree is an attempt there; once it
// has a place, and that is claimed for it, the job goes on to that site as the next attempt. The place is given back when
// the job has ended, or was not taken there.

// Holding is whether a place is held for a job.
type Holding string

const (
	held Holding = "held" // the job is to be sent there, or is there
	left Holding = "left" // it is not, and the tree has yet to be told
)

// heldTime is for how long a place that nobody has given back is seen to.
const heldTime = 30 * 24 * time.Hour

// assigned is the attempt at a tree of managers that has got the job the place where it is to be sent, or is; nil: none has.
func assigned(r *Record) *Past {
	for i := range r.Past {
		if p := &r.Past[i]; p.Holding == held && !r.Final() {
			return p
		}
	}
	return nil
}

// leave notes that the job has no use for its place any more.
func leave(r *Record) {
	for i := range r.Past {
		if r.Past[i].Holding == held {
			r.Past[i].Holding = left
		}
	}
}

// returns is how often the job had a place; more than the user lets it be tried, and some, and it fails.
func returns(r *Record) (n int) {
	for _, p := range r.Past {
		if p.Assigned != "" {
			n++
		}
	}
	return n - r.Retries - r.Shallow
}

// cameBack is the id by which a tree knows a job that comes back there, as the site where it had a place did not take it; "": it
// does not come back.
func cameBack(r *Record, endpoint string) string {
	for _, p := range slices.Backward(r.Past) {
		if p.Assigned != "" && p.Handle.Endpoint == endpoint {
			return p.Handle.ID
		}
		if p.Handle.ID != "" { // it was taken somewhere
			return ""
		}
	}
	return ""
}

// mostReturns is how often a job goes back to its tree since the site where it got a place does not take it.
const mostReturns = 5

// lookIn is where the job's resources are looked for: where its user said, or at the site where it has a place.
func lookIn(r *Record) Origin {
	p := assigned(r)
	if p == nil {
		return r.Origin
	}
	return Origin{Sources: r.Origin.Beyond, Sites: []string{p.Assigned}, Attributes: r.Origin.Attributes, fixed: true}
}

// queue is a place in a tree's queue, or one that it has got a job.
type queue struct {
	*Outcome
	number int // of the attempt
	handle plugins.Handle
}

func (q queue) at() plugins.Handle { return q.handle }

// seeksPlace tells that a job, where it waits in a tree, is to go on as soon as it has a place.
func seeksPlace(o *Outcome) bool {
	return !o.Final() && assigned(o.Record) == nil && o.Handle.ID != "" && o.Cancelled.IsZero() && !o.NoRetry
}

// assign claims the places that trees of managers have got for jobs, which go there then, and lets the trees know of those
// that are used still. A claim is recorded before the job is sent; where that does not come to be it is made again.
func assign(ctx context.Context, f *following) error {
	var list []queue
	for _, o := range f.jobs {
		if p := assigned(o.Record); p != nil {
			list = append(list, queue{o, p.Number, p.Handle})
		} else if seeksPlace(o) {
			list = append(list, queue{o, o.number(), o.Handle})
		}
	}
	var mu sync.Mutex
	system := map[string]string{}
	var got []*Outcome
	err := each(f.Controller, list, queue.at, func(queue, place) {}, func(backend plugins.Submitter, list []queue) error {
		tree, ok := backend.(plugins.Assigner)
		if !ok {
			return nil
		}
		claims := tree.Claim(ctx, queues(list))
		mu.Lock()
		defer mu.Unlock()
		for i, q := range list[:min(len(list), len(claims))] {
			if claims[i].Err == nil && claims[i].System != "" && q.handle == q.Handle {
				system[q.ID] = bounded(claims[i].System)
				got = append(got, q.Outcome)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	at := map[string]plugins.Handle{}
	for _, o := range got {
		at[o.ID] = o.Handle
	}
	return f.apply(context.WithoutCancel(ctx), got, func(r *Record) Event {
		if r.Final() || r.Handle != at[r.ID] || !r.Cancelled.IsZero() {
			return nil
		}
		return Assigned{System: system[r.ID]}
	})
}

func queues(list []queue) []plugins.Handle {
	hs := make([]plugins.Handle, len(list))
	for i, q := range list {
		hs[i] = q.handle
	}
	return hs
}

// vacate gives back the places that jobs have no use for any more. What cannot be given back now is given back later.
func vacate(ctx context.Context, c *Controller, os []*Outcome) error {
	var list []queue
	for _, o := range os {
		for _, p := range o.Past {
			if p.Holding == left || p.Holding == held && o.Final() {
				list = append(list, queue{o, p.Number, p.Handle})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	var mu sync.Mutex
	free := map[string][]int{}
	var of []*Outcome
	err := each(c, list, queue.at, func(queue, place) {}, func(backend plugins.Submitter, list []queue) error {
		errs := backend.Cancel(ctx, queues(list))
		mu.Lock()
		defer mu.Unlock()
		for i, q := range list[:min(len(list), len(errs))] {
			if errs[i] == nil {
				free[q.ID] = append(free[q.ID], q.number)
				of = append(of, q.Outcome)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.apply(context.WithoutCancel(ctx), of, func(r *Record) Event {
		if len(free[r.ID]) == 0 {
			return nil
		}
		return Vacated{Attempts: free[r.ID]}
	})
}
