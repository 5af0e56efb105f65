package jobs

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/plugins"
)

// byEndpoint groups jobs that a back-end has by where they are.
func byEndpoint(rs []*Record) map[plugins.Handle][]*Record {
	groups := map[plugins.Handle][]*Record{}
	for _, r := range rs {
		key := plugins.Handle{Interface: r.Handle.Interface, Endpoint: r.Handle.Endpoint}
		groups[key] = append(groups[key], r)
	}
	return groups
}

// each calls f for every endpoint's jobs, endpoints in parallel.
func (c *Controller) each(rs []*Record, f func(backend plugins.Submitter, rs []*Record) error) error {
	var g errgroup.Group
	g.SetLimit(maxEndpoints)
	for at, group := range byEndpoint(rs) {
		backend, ok := c.Registry.For(at.Interface)
		if !ok {
			for _, r := range group {
				r.err = fmt.Errorf("job %s: no back-end for %s at %s", r.ID, at.Interface, at.Endpoint)
			}
			continue
		}
		g.Go(func() error { return f(backend, group) })
	}
	return g.Wait()
}

func handles(rs []*Record) []plugins.Handle {
	hs := make([]plugins.Handle, len(rs))
	for i, r := range rs {
		hs[i] = r.Handle
	}
	return hs
}

// Refresh brings the states of jobs up to date: first those whose submission
// was cut short are looked up, then every endpoint is asked about its jobs in
// one request. Jobs that have ended are not asked about. What could not be
// asked keeps its state and has an Err.
func (c *Controller) Refresh(ctx context.Context, rs []*Record) error {
	if err := c.Reconcile(ctx, rs); err != nil {
		return err
	}
	var live []*Record
	for _, r := range rs {
		if !r.Final() && r.Handle.ID != "" {
			live = append(live, r)
		}
	}
	return c.each(live, func(backend plugins.Submitter, rs []*Record) error {
		return c.refresh(ctx, backend, rs)
	})
}

func (c *Controller) refresh(ctx context.Context, backend plugins.Submitter, rs []*Record) error {
	got := backend.Status(ctx, handles(rs))
	c.verify(ctx, backend, rs, got)
	now := c.Now()
	status := make(map[string]plugins.Status, len(rs))
	for i, r := range rs {
		if i >= len(got) {
			r.err = fmt.Errorf("job %s: the back-end gave no answer", r.ID)
			continue
		}
		r.err, r.asked = got[i].Err, got[i].State != plugins.Unknown
		status[r.ID] = got[i]
	}
	var mu sync.Mutex
	var ends []plugins.End
	err := c.Store.Update(context.WithoutCancel(ctx), rs, func(r *Record) Change {
		st, ok := status[r.ID]
		if !ok || r.Final() || st.Handle.ID != "" && st.Handle.ID != r.Handle.ID {
			return Change{} // another process has gone on with it
		}
		change := r.see(st, now)
		if r.Final() {
			mu.Lock()
			ends = append(ends, plugins.End{ID: r.requestID(), Status: st})
			mu.Unlock()
		}
		return change
	})
	c.ended(ctx, ends)
	return err
}

// updateStep is how exact Record.Updated is where nothing else has changed:
// asking again and again about jobs that go on writes nothing.
const updateStep = time.Minute

// see writes what the back-end says into the record.
func (r *Record) see(st plugins.Status, now time.Time) Change {
	if st.State == plugins.Unknown || st.State == "" {
		return Change{} // never a verdict
	}
	was := *r
	r.State, r.Native = st.State, st.Native
	r.Reason = st.Reason
	if st.Err != nil && r.Reason == "" {
		r.Reason = st.Err.Error()
	}
	if st.ExitCode.OK {
		code := st.ExitCode.V
		r.ExitCode = &code
	}
	keep(&r.Host, st.Node)
	keep(&r.Started, st.Started)
	keep(&r.Ended, st.Ended)
	keep(&r.Expires, st.Expires)
	keep(&r.WallTime, st.WallTime)
	keep(&r.CPUTime, st.CPUTime)
	keep(&r.MaxMemory, st.MaxMemory)
	if r.Final() && r.Ended.IsZero() {
		r.Ended = now
	}
	if now.Sub(r.Updated) >= updateStep || !reflect.DeepEqual(&was, r) {
		r.Updated = now
	}
	if r.State == was.State {
		return Change{}
	}
	return Change{string(r.State), r.summary()}
}

// keep replaces old by new where that is known.
func keep[T comparable](old *T, new T) {
	var zero T
	if new != zero {
		*old = new
	}
}

// summary is what is worth a line in the log.
func (r *Record) summary() string {
	s := ""
	add := func(text string) {
		if s != "" {
			s += ", "
		}
		s += text
	}
	if r.Native != "" {
		add(r.Native)
	}
	if r.ExitCode != nil {
		add("exit code " + strconv.Itoa(*r.ExitCode))
	}
	if r.Host != "" {
		add("on " + r.Host)
	}
	if r.Reason != "" {
		add(r.Reason)
	}
	return s
}
