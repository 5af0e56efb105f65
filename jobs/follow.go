package jobs

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

// place is where jobs are: an interface at an endpoint.
type place struct{ Interface, Endpoint string }

// each calls f for every place's part of a list, several at once. What has no
// back-end is given to none.
func each[T any](c *Controller, list []T, at func(T) plugins.Handle, none func(T, place), f func(backend plugins.Submitter, list []T) error) error {
	groups := map[place][]T{}
	var order []place
	for _, x := range list {
		h := at(x)
		p := place{h.Interface, h.Endpoint}
		if _, ok := groups[p]; !ok {
			order = append(order, p)
		}
		groups[p] = append(groups[p], x)
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Interface, b.Interface))
	})
	var g errgroup.Group
	g.SetLimit(c.atOnce())
	for _, p := range order {
		backend, ok := c.Registry.For(p.Interface)
		if !ok {
			for _, x := range groups[p] {
				none(x, p)
			}
			continue
		}
		g.Go(func() error { return f(backend, groups[p]) })
	}
	return g.Wait()
}

// each calls f for every endpoint's jobs, endpoints in parallel.
func (c *Controller) each(os []*Outcome, f func(backend plugins.Submitter, os []*Outcome) error) error {
	none := func(o *Outcome, p place) {
		o.Err = fmt.Errorf("job %s: no back-end for %s at %s", o.ID, p.Interface, p.Endpoint)
	}
	return each(c, os, func(o *Outcome) plugins.Handle { return o.Handle }, none, f)
}

func handles(os []*Outcome) []plugins.Handle {
	hs := make([]plugins.Handle, len(os))
	for i, o := range os {
		hs[i] = o.Handle
	}
	return hs
}

// Refresh brings the states of jobs up to date: first those whose submission
// was cut short are looked up, then every endpoint is asked about its jobs in
// one request. Jobs that have ended are not asked about. What could not be
// asked keeps its state and has an Err.
func (c *Controller) Refresh(ctx context.Context, os []*Outcome) error {
	return refreshAll(ctx, c, os, false)
}

// refreshAll is Refresh; current is as in Waiting.
func refreshAll(ctx context.Context, c *Controller, os []*Outcome, current bool) error {
	if err := c.Reconcile(ctx, os); err != nil {
		return err
	}
	var live []*Outcome
	for _, o := range os {
		if !o.Final() && o.Handle.ID != "" {
			live = append(live, o)
		}
	}
	err := c.each(live, func(backend plugins.Submitter, os []*Outcome) error {
		return lookAt(ctx, c, backend, os, current)
	})
	if err != nil {
		return err
	}
	return vacate(ctx, c, os)
}

func refresh(ctx context.Context, c *Controller, backend plugins.Submitter, os []*Outcome) error {
	return lookAt(ctx, c, backend, os, false)
}

// lookAt asks a back-end about jobs; current is as in Waiting.
func lookAt(ctx context.Context, c *Controller, backend plugins.Submitter, os []*Outcome, current bool) error {
	at := clock.Read(c.Clock)
	got := backend.Status(ctx, handles(os))
	verify(ctx, c, backend, os, got)
	status := make(map[string]plugins.Status, len(os))
	for i, o := range os {
		if i >= len(got) {
			o.Err = fmt.Errorf("job %s: the back-end gave no answer", o.ID)
			continue
		}
		o.Err, o.Fresh = got[i].Err, got[i].State != plugins.Unknown
		got[i].Handle = o.Handle
		status[o.ID] = got[i]
	}
	if current {
		now, after := c.now(), &Record{}
		os = slices.DeleteFunc(slices.Clone(os), func(o *Outcome) bool {
			st, told := status[o.ID]
			return told && goesOn(o.Record, after, Seen{Status: st, At: at}, now)
		})
	}
	var mu sync.Mutex
	var ends []plugins.End
	err := c.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		st := status[r.ID]
		if r.Final() || st.Handle != r.Handle {
			return nil // there is no answer, or another process has gone on with it
		}
		if r.stale(st, c.now()) {
			return nil
		}
		if st.State.Final() && st.State != plugins.Lost {
			mu.Lock()
			ends = append(ends, plugins.End{ID: r.requestID(), Status: st})
			mu.Unlock()
		}
		return Seen{Status: st, At: at}
	})
	for _, o := range os {
		if o.State == plugins.Lost && status[o.ID].State == plugins.Lost {
			ends = append(ends, plugins.End{ID: o.requestID(), Status: status[o.ID]})
		}
	}
	learn(ctx, c, ends)
	return err
}

// goesOn tells whether a job is said to be where it was, and nothing that its record does not have. After is written over.
func goesOn(r, after *Record, e Seen, now time.Time) bool {
	if e.Status.State != r.State || r.Final() {
		return false
	}
	*after = *r
	_, err := after.Apply(e, now)
	return err == nil && reflect.DeepEqual(after, r)
}
