package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Reconcile looks up jobs whose submission was cut short: by a crash of this
// program, of the network or of the server. Found jobs get their handle. Jobs
// that did not arrive, and cannot any more, go back to Intended, from where
// they can be submitted again. Where the endpoint cannot be asked the outcome
// stays uncertain and the job has an Err. Jobs that a living process is
// submitting are left alone.
//
// Attempts given up earlier, of any recorded job, are looked up, too: one that
// has arrived late is the job's from then on, or is cancelled where the job is
// elsewhere.
func (c *Controller) Reconcile(ctx context.Context, os []*Outcome) error {
	if err := release(ctx, c, os); err != nil {
		return err
	}
	var cut []inquiry
	for _, o := range os {
		if o.State == plugins.Submitting && c.free(o.Record) {
			cut = append(cut, inquiry{Outcome: o, attempt: o.number(), at: o.Handle})
		}
	}
	if err := c.inquireAll(ctx, cut); err != nil {
		return err
	}
	strays, err := strays(ctx, c)
	if err != nil || len(strays) == 0 {
		return err
	}
	if err := c.inquireAll(ctx, strays); err != nil {
		return err
	}
	return reread(ctx, c, os, strays)
}

func (c *Controller) inquireAll(ctx context.Context, qs []inquiry) error {
	return each(c, qs, func(q inquiry) plugins.Handle { return q.at }, inquiry.none,
		func(backend plugins.Submitter, qs []inquiry) error { return inquire(ctx, c, backend, qs) })
}

// reread brings the records of jobs up to date that were asked about apart.
func reread(ctx context.Context, c *Controller, os []*Outcome, qs []inquiry) error {
	asked := map[string]bool{}
	for _, q := range qs {
		asked[q.ID] = true
	}
	of := os[:0:0]
	for _, o := range os {
		if asked[o.ID] {
			of = append(of, o)
		}
	}
	return c.apply(ctx, of, func(*Record) Event { return nil })
}

// release takes jobs that were not sent from processes that have ended, and
// notes from when on the outcome of those being sent counts as uncertain.
func release(ctx context.Context, c *Controller, os []*Outcome) error {
	var orphans []*Outcome
	for _, o := range os {
		if o.Owner != "" && (o.State == plugins.Submitting || o.State == plugins.Intended) && c.free(o.Record) {
			orphans = append(orphans, o)
		}
	}
	at := clock.Read(c.Clock)
	return c.apply(ctx, orphans, func(r *Record) Event {
		switch {
		case r.Owner == "" || !c.free(r):
			return nil
		case r.State == plugins.Intended:
			return Released{}
		case r.State == plugins.Submitting:
			return Unanswered{Why: "the process that was sending it has ended", At: at}
		}
		return nil
	})
}

// inquiry is the question what became of an attempt.
type inquiry struct {
	*Outcome
	attempt int
	at      plugins.Handle // where it was sent
	stray   bool           // it was given up before
}

func (q inquiry) id() string { return requestID(q.ID, q.attempt) }

// none is that no back-end can be asked.
func (q inquiry) none(p place) {
	q.Err = fmt.Errorf("job %s: no back-end for %s at %s", q.ID, p.Interface, p.Endpoint)
}

// strays lists now and then the attempts of all recorded jobs that may turn up
// late, each with a record of its own, and gives back the places that ended jobs have.
func strays(ctx context.Context, c *Controller) ([]inquiry, error) {
	if !c.sweeping.due(clock.Read(c.Clock)) {
		return nil, nil
	}
	now := c.now()
	rs, err := c.Store.Select(ctx, Query{Loose: now})
	if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
		return nil, err
	}
	if err := vacate(ctx, c, Outcomes(rs)); err != nil {
		return nil, err
	}
	var out []inquiry
	for _, r := range rs {
		for _, p := range r.Past {
			if p.loose(now) {
				own := *r
				out = append(out, inquiry{Outcome: &Outcome{Record: &own}, attempt: p.Number, at: p.Handle, stray: true})
			}
		}
	}
	return out, nil
}

// inquire asks one endpoint what became of attempts.
func inquire(ctx context.Context, c *Controller, backend plugins.Submitter, qs []inquiry) error {
	at := clock.Read(c.Clock) // before the question: what comes later may still arrive
	e := glue.Endpoint{URL: qs[0].at.Endpoint, Interface: qs[0].at.Interface}
	found, err := find(ctx, backend, e, qs)
	if err != nil {
		for _, q := range qs {
			q.Err = &plugins.Error{Kind: plugins.Uncertain, Op: "look up job " + q.ID, Endpoint: e.URL, Err: err,
				Hint: "its submission may have arrived; ask again with grid status"}
		}
		return nil
	}
	l := &lookUp{Controller: c, backend: backend, endpoint: e, found: found, at: at}
	var cut []inquiry
	for _, q := range qs {
		if !q.stray {
			cut = append(cut, q)
		}
	}
	if err := l.settle(ctx, cut); err != nil {
		return err
	}
	for _, q := range qs {
		if h, there := found[q.id()]; q.stray && there {
			if err := l.late(ctx, q, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// find asks a back-end that can look ids up.
func find(ctx context.Context, backend plugins.Submitter, e glue.Endpoint, qs []inquiry) (map[string]plugins.Handle, error) {
	finder, ok := backend.(plugins.Finder)
	if !ok {
		return nil, fmt.Errorf("%s cannot look up jobs by our id", e.Interface)
	}
	ids := make([]string, len(qs))
	for i, q := range qs {
		ids[i] = q.id()
	}
	return finder.Find(ctx, e, ids)
}

// lookUp is what one endpoint answered.
type lookUp struct {
	*Controller
	backend  plugins.Submitter
	endpoint glue.Endpoint
	found    map[string]plugins.Handle // by the attempts' ids
	at       clock.Reading
}

// settleTime is for how long a request may still arrive there.
func (l *lookUp) settleTime() time.Duration {
	if s, ok := l.backend.(plugins.Settler); ok {
		return s.SettleTime()
	}
	return settleTime(l.Controller)
}

// settle goes on with jobs whose present attempt was looked up.
func (l *lookUp) settle(ctx context.Context, qs []inquiry) error {
	if len(qs) == 0 {
		return nil
	}
	unfinished := l.complete(ctx, qs)
	os := make([]*Outcome, len(qs))
	asked := make(map[string]int, len(qs))
	for i, q := range qs {
		os[i], asked[q.ID] = q.Outcome, q.attempt
	}
	err := l.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		if r.State != plugins.Submitting || r.number() != asked[r.ID] {
			return nil // another process has settled it, or has even sent it again
		}
		err := unfinished[r.ID]
		h, there := l.found[r.requestID()]
		switch {
		case err != nil && !hopeless(err):
			return nil // found, but not whole: it is looked up again
		case !there:
			return NotFound{Asked: l.at, Settle: l.settleTime()}
		case err != nil:
			return Found{Attempt: r.number(), Handle: h, Why: err.Error()}
		}
		return Found{Attempt: r.number(), Handle: h}
	})
	for _, o := range os {
		if o.Err = unfinished[o.ID]; o.Err == nil && o.State == plugins.Submitting {
			o.Err = &plugins.Error{Kind: plugins.Uncertain, Op: "look up job " + o.ID, Endpoint: l.endpoint.URL,
				Said: "not there, but it may still arrive", Hint: fmt.Sprintf("ask again in %s with grid status", l.settleTime())}
		}
	}
	return err
}

// late goes on with an attempt that was given up and has arrived all the
// same: it is the job's where the job is nowhere else, and else is cancelled.
func (l *lookUp) late(ctx context.Context, q inquiry, h plugins.Handle) error {
	alone := func(r *Record) bool {
		return (r.State == plugins.Intended || r.State == plugins.Submitting) && r.Owner == "" && r.Cancelled.IsZero()
	}
	unfinished := map[string]error{}
	if alone(q.Record) {
		unfinished = l.complete(ctx, []inquiry{q})
	}
	os := []*Outcome{q.Outcome}
	err := l.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		if !alone(r) || unfinished[r.ID] != nil && !hopeless(unfinished[r.ID]) {
			return nil
		}
		return Found{Attempt: q.attempt, Handle: h}
	})
	if err != nil || q.Handle == h || alone(q.Record) {
		return err
	}
	if errs := l.backend.Cancel(ctx, []plugins.Handle{h}); len(errs) != 1 || errs[0] != nil {
		return nil // it is looked up again
	}
	return l.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		return StrayEnded{Attempt: q.attempt, Handle: h}
	})
}

// complete brings the input files of found jobs that still wait for them. It
// returns why it could not, by the ids of the jobs.
func (l *lookUp) complete(ctx context.Context, qs []inquiry) map[string]error {
	completer, ok := l.backend.(plugins.Completer)
	if !ok {
		return nil
	}
	var (
		ids    []string
		reqs   []plugins.Request
		hs     []plugins.Handle
		failed = map[string]error{}
	)
	for _, q := range qs {
		h, there := l.found[q.id()]
		if !there {
			continue
		}
		job, err := q.Job()
		if err == nil {
			err = q.unvouched()
		}
		if err != nil { // it never becomes another
			failed[q.ID] = l.incomplete(q.ID, &plugins.Error{Kind: plugins.Invalid, Op: "read its description", Err: err})
			continue
		}
		job = plugins.WithBrokerInfo(job.Laid(), q.BrokerInfo)
		if len(job.InputSandbox) > 0 {
			ids, hs = append(ids, q.ID), append(hs, h)
			reqs = append(reqs, plugins.Request{ID: q.id(), Job: job, Endpoint: l.endpoint})
		}
	}
	if len(reqs) == 0 {
		return failed
	}
	for i, err := range completer.Complete(ctx, reqs, hs, l.Progress) {
		if err != nil {
			failed[ids[i]] = l.incomplete(ids[i], err)
		}
	}
	return failed
}

func (l *lookUp) incomplete(id string, err error) error {
	return &plugins.Error{Kind: plugins.Uncertain, Op: "complete job " + id, Endpoint: l.endpoint.URL, Err: err,
		Hint: "the job is there and waits for its input files; ask again with grid status, or cancel it"}
}

// hopeless reports whether a job's input files can never be brought: they
// are gone from this machine, or its description does not say which they are.
func hopeless(err error) bool {
	e, ok := errors.AsType[*plugins.Error](errors.Unwrap(err))
	return ok && e.Kind == plugins.Invalid
}
