package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// SettleTime is for how long a job that is not found at its endpoint may
// still arrive there: a server goes on with a request whose client is gone.
const SettleTime = 30 * time.Second

// Reconcile looks up jobs whose submission was cut short: by a crash of this
// program, of the network or of the server. Found jobs get their handle. Jobs
// that did not arrive go back to Intended, from where they can be submitted
// again. Where the endpoint cannot be asked the outcome stays uncertain and
// the job has an Err. Jobs that a living process is submitting are left alone.
func (c *Controller) Reconcile(ctx context.Context, rs []*Record) error {
	var cut, idle []*Record
	for _, r := range rs {
		if r.Owner != "" && c.Store.alive(r.Owner) {
			continue
		}
		switch {
		case r.State == plugins.Submitting:
			cut = append(cut, r)
		case r.State == plugins.Intended && r.Owner != "":
			idle = append(idle, r)
		}
	}
	if err := c.Store.Update(ctx, idle, func(r *Record) Change {
		if r.State == plugins.Intended {
			r.Owner = ""
		}
		return Change{}
	}); err != nil {
		return err
	}
	return c.each(cut, func(backend plugins.Submitter, rs []*Record) error {
		return c.lookUp(ctx, backend, rs)
	})
}

// lookUp asks one endpoint for our ids.
func (c *Controller) lookUp(ctx context.Context, backend plugins.Submitter, rs []*Record) error {
	e := glue.Endpoint{URL: rs[0].Handle.Endpoint, Interface: rs[0].Handle.Interface}
	found, err := find(ctx, backend, e, rs)
	if err != nil {
		for _, r := range rs {
			r.err = &plugins.Error{Kind: plugins.Uncertain, Op: "look up job " + r.ID, Endpoint: e.URL, Err: err,
				Hint: "its submission may have arrived; ask again with grid status"}
		}
		return nil
	}
	unfinished := c.complete(ctx, backend, e, rs, found)
	now := c.Now()
	err = c.Store.Update(context.WithoutCancel(ctx), rs, func(r *Record) Change {
		if r.State != plugins.Submitting || r.Handle.ID != "" || r.Owner != "" && c.Store.alive(r.Owner) {
			return Change{} // another process has settled it
		}
		err := unfinished[r.ID]
		if err != nil && !hopeless(err) {
			return Change{} // found, but not whole: it is looked up again
		}
		c := r.lookedUp(found, now)
		if err != nil {
			r.Reason = err.Error()
		}
		return c
	})
	for _, r := range rs {
		if r.err = unfinished[r.ID]; r.err == nil && r.State == plugins.Submitting {
			r.err = &plugins.Error{Kind: plugins.Uncertain, Op: "look up job " + r.ID, Endpoint: e.URL,
				Said: "not there, but it may still arrive", Hint: fmt.Sprintf("ask again in %s with grid status", SettleTime)}
		}
	}
	return err
}

// complete brings the input files of found jobs that still wait for them. It
// returns why it could not, by the ids of the jobs.
func (c *Controller) complete(ctx context.Context, backend plugins.Submitter, e glue.Endpoint, rs []*Record, found map[string]plugins.Handle) map[string]error {
	completer, ok := backend.(plugins.Completer)
	if !ok {
		return nil
	}
	var (
		ids    []string
		reqs   []plugins.Request
		hs     []plugins.Handle
		failed = map[string]error{}
	)
	for _, r := range rs {
		h, there := found[r.requestID()]
		if !there {
			continue
		}
		job, err := r.Job()
		if err != nil {
			failed[r.ID] = err
			continue
		}
		if len(job.InputSandbox) > 0 {
			ids, hs = append(ids, r.ID), append(hs, h)
			reqs = append(reqs, plugins.Request{ID: r.requestID(), Job: job, Endpoint: e})
		}
	}
	if len(reqs) == 0 {
		return failed
	}
	for i, err := range completer.Complete(ctx, reqs, hs, c.Progress) {
		if err != nil {
			failed[ids[i]] = &plugins.Error{Kind: plugins.Uncertain, Op: "complete job " + ids[i], Endpoint: e.URL, Err: err,
				Hint: "the job is there and waits for its input files; ask again with grid status, or cancel it"}
		}
	}
	return failed
}

// hopeless reports whether a job's input files can never be brought: they
// are gone from this machine.
func hopeless(err error) bool {
	e, ok := errors.AsType[*plugins.Error](errors.Unwrap(err))
	return ok && e.Kind == plugins.Invalid
}

// find asks a back-end that can look ids up.
func find(ctx context.Context, backend plugins.Submitter, e glue.Endpoint, rs []*Record) (map[string]plugins.Handle, error) {
	finder, ok := backend.(plugins.Finder)
	if !ok {
		return nil, fmt.Errorf("%s cannot look up jobs by our id", e.Interface)
	}
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = r.requestID()
	}
	return finder.Find(ctx, e, ids)
}

// lookedUp writes the outcome of the look-up into the record.
func (r *Record) lookedUp(found map[string]plugins.Handle, now time.Time) Change {
	if h, ok := found[r.requestID()]; ok {
		r.State, r.Handle, r.Owner, r.Reason = plugins.Accepted, h, "", ""
		if r.Submitted.IsZero() {
			r.Submitted = r.Sent
		}
		return Change{"found", "it had arrived as " + h.ID}
	}
	if now.Sub(r.Sent) < SettleTime {
		return Change{}
	}
	r.State, r.Owner, r.Reason = plugins.Intended, "", "never arrived at "+r.Handle.Endpoint
	r.Handle.ID = ""
	return Change{"not found", r.Reason}
}
