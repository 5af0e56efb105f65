package jobs

import (
	"context"
	"fmt"
	"slices"

	"gridbroker/plugins"
)

// Anew is how jobs are sent anew by the user.
type Anew struct {
	Discover Discover
	Anywhere bool // also to resources where they were tried before
	Done     bool // also jobs that are done with exit code 0
}

// Resubmit sends jobs anew: such as ended, and such as never arrived. A job
// that nothing takes stays as it is, and has an Err; so does one that is done
// well, unless it is asked for: but in silence where others of its collection
// or DAG are sent. Of a DAG, jobs go in their order: those whose predecessors
// are not done wait here for Wait.
func (c *Controller) Resubmit(ctx context.Context, os []*Outcome, a Anew) error {
	if err := c.Reconcile(ctx, os); err != nil {
		return err
	}
	v := &renewal{Controller: c, Anew: a, byID: map[string]*Outcome{}, in: map[string]bool{}}
	again := v.candidates(os)
	ready, waiting, err := v.inOrder(ctx, again)
	if err != nil {
		return err
	}
	s, err := supplyAll(ctx, c, ready)
	if err != nil {
		return err
	}
	for _, o := range s.gone {
		o.Err = fmt.Errorf("job %s %s", o.ID, s.why[o.ID])
	}
	ready, waiting = s.ready, append(waiting, s.late...)
	avoid := (*Record).avoided
	if a.Anywhere {
		avoid = func(*Record) []string { return nil }
	}
	placed, err := c.place(ctx, ready, a.Discover, avoid)
	if err != nil {
		return err
	}
	var send []*Outcome
	for _, o := range ready {
		if o.Err = placed[o.ID].err; o.Err == nil {
			send = append(send, o)
		}
	}
	if err := v.renew(ctx, send); err != nil {
		return err
	}
	if err := v.renewAfter(ctx, waiting); err != nil {
		return err
	}
	return c.sendPlaced(ctx, send, placed)
}

// renewal is one call of Resubmit.
type renewal struct {
	*Controller
	Anew
	byID map[string]*Outcome
	in   map[string]bool // jobs that are to be sent anew
}

// candidates are the jobs that may be sent anew. The others get an Err.
func (v *renewal) candidates(os []*Outcome) []*Outcome {
	var again, done []*Outcome
	parents := map[string]bool{}
	for _, o := range os {
		v.byID[o.ID] = o
		switch {
		case !o.Final() && o.State != plugins.Intended || !v.free(o.Record):
			if o.Err == nil {
				o.Err = fmt.Errorf("job %s is %s: only ended jobs and such as never arrived can be submitted again", o.ID, o.State)
			}
		case o.unvouched() != nil:
			o.Err = o.unvouched()
		case o.State == plugins.Done && !o.Failure() && !v.Done && !o.aborts():
			done = append(done, o)
		default:
			o.Err = nil
			again = append(again, o)
			v.in[o.ID] = true
			parents[o.Parent] = o.Parent != ""
		}
	}
	for _, o := range slices.Clone(again) {
		if o.Failure() && o.judges() && len(judged(o, again)) == 0 { // all were well, but for the PostScript
			for _, p := range judged(o, done) {
				again, v.in[p.ID] = append(again, p), true
			}
			done = slices.DeleteFunc(done, func(p *Outcome) bool { return v.in[p.ID] })
		}
	}
	for _, o := range done {
		switch {
		case parents[o.Parent] && o.last():
			o.Err = nil
			again = append(again, o)
			v.in[o.ID] = true
		case !parents[o.Parent]:
			o.Err = fmt.Errorf("job %s is done, with exit code 0: say --force to run it again", o.ID)
		}
	}
	return again
}

// inOrder divides jobs into those that can be sent and those that wait for
// others. What comes after a job that failed, and is not sent again, gets an
// Err.
func (v *renewal) inOrder(ctx context.Context, os []*Outcome) (ready, waiting []*Outcome, err error) {
	there := crowd{}
	for _, o := range v.byID {
		if busy(o.Record) {
			there.add(o.Record)
		}
	}
	for _, o := range os {
		state := plugins.Done
		if v.comesAfterOne(o) {
			state = plugins.Queued
		} else if state, err = v.before(ctx, o, v.byID, v.now()); err != nil {
			return nil, nil, err
		}
		switch {
		case state == plugins.Failed:
			o.Err = fmt.Errorf("job %s comes after one that has failed: submit that again, too", o.ID)
			v.in[o.ID] = false
		case state == plugins.Queued, !there.admit(o.Record):
			waiting = append(waiting, o)
		default:
			ready = append(ready, o)
		}
	}
	return ready, waiting, nil
}

// comesAfterOne reports whether a predecessor is to be sent anew.
func (v *renewal) comesAfterOne(o *Outcome) bool {
	for _, id := range o.After {
		if v.in[id] {
			return true
		}
	}
	return false
}

// renew takes jobs back to Intended, unless another process has gone on with
// them.
func (v *renewal) renew(ctx context.Context, os []*Outcome) error {
	attempts := map[string]int{}
	for _, o := range os {
		attempts[o.ID] = o.Attempts
	}
	err := v.apply(ctx, os, func(r *Record) Event {
		if !r.Final() && r.State != plugins.Intended || !v.free(r) || r.Attempts != attempts[r.ID] {
			return nil
		}
		return Resubmitted{Anywhere: v.Anywhere}
	})
	for _, o := range os {
		if o.Err == nil && o.State != plugins.Intended {
			o.Err = fmt.Errorf("job %s is %s: another process has gone on with it", o.ID, o.State)
		}
	}
	return err
}

// renewAfter takes back to Intended the jobs that wait for others: unless one
// of these could not be sent anew.
func (v *renewal) renewAfter(ctx context.Context, os []*Outcome) error {
	stuck := func(o *Outcome) string {
		if o.last() || o.afterAny() {
			return ""
		}
		for _, id := range o.After {
			if p := v.byID[id]; p != nil && v.in[id] && p.Err != nil {
				return id
			}
		}
		return ""
	}
	for changed := true; changed; {
		changed = false
		for _, o := range os {
			if id := stuck(o); id != "" && o.Err == nil {
				o.Err, changed = fmt.Errorf("job %s comes after job %s, which was not sent again", o.ID, id), true
			}
		}
	}
	return v.renew(ctx, well(os))
}
