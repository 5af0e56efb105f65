package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

// sending is one call of Send.
type sending struct {
	*Controller
	lease Lease
	mu    sync.Mutex
	dead  map[string]error // endpoints that failed in this call
}

// Send offers each job to its choices, best first, until one takes it: one
// bulk request per endpoint, endpoints in parallel. An endpoint that could
// not be reached is not tried again in this call. A job with an uncertain
// outcome is not offered further: it may have arrived. Where ctx ends, jobs
// that were not sent stay as they are.
//
// What became of each job is in its record and in its Err; the error of Send
// is that of the job records themselves, an *UnrecordedError where jobs had
// been sent.
func (c *Controller) Send(ctx context.Context, os []*Outcome) error {
	if c.Store == nil {
		return errNoStore
	}
	if os = unscripted(os); len(os) == 0 {
		return nil
	}
	l, err := c.Store.Lease(newIDs(c.now(), 1)[0])
	if err != nil {
		return err
	}
	defer l.End()
	s := &sending{Controller: c, lease: l, dead: map[string]error{}}
	for len(os) > 0 {
		if os, err = s.round(ctx, os); err != nil {
			return err
		}
	}
	return nil
}

// round offers every job once and returns those to be offered further.
func (s *sending) round(ctx context.Context, os []*Outcome) (again []*Outcome, err error) {
	if ctx.Err() != nil {
		for _, o := range os {
			o.Err = ctx.Err() // still intended: can be submitted again
		}
		return nil, nil
	}
	batches, lost, kept := s.batches(os)
	if err := errors.Join(s.giveUp(ctx, lost), s.keepBack(ctx, kept)); err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(s.atOnce())
	var unrecorded *UnrecordedError
	for _, batch := range batches {
		g.Go(func() error {
			more, err := s.batch(ctx, batch)
			s.mu.Lock()
			defer s.mu.Unlock()
			again = append(again, more...)
			if u, ok := errors.AsType[*UnrecordedError](err); ok {
				unrecorded = unrecorded.with(u)
				return nil
			}
			return err
		})
	}
	err = g.Wait()
	if unrecorded != nil {
		return nil, unrecorded
	}
	return again, err
}

// with joins what could not be recorded at several endpoints.
func (e *UnrecordedError) with(more *UnrecordedError) *UnrecordedError {
	if e == nil {
		return more
	}
	return &UnrecordedError{IDs: append(e.IDs, more.IDs...), Err: e.Err}
}

// batches groups jobs by the endpoint of their best choice, passing over
// dead ones. Jobs without a choice left are lost; those that wait for scouts
// are kept.
func (s *sending) batches(os []*Outcome) (batches [][]*Outcome, lost, kept []*Outcome) {
	at := map[string]int{}
	for _, o := range os {
		for len(o.Choices) > 0 && s.dead[o.Choices[0].Endpoint.URL] != nil {
			o.Err = s.dead[o.Choices[0].Endpoint.URL]
			o.Choices = o.Choices[1:]
		}
		if len(o.Choices) == 0 {
			lost = append(lost, o)
			continue
		}
		if !s.Scouts.choose(o.Record) {
			kept = append(kept, o)
			continue
		}
		e := o.Choices[0].Endpoint
		i, ok := at[e.Interface+" "+e.URL]
		if !ok {
			i = len(batches)
			at[e.Interface+" "+e.URL] = i
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], o)
	}
	return batches, lost, kept
}

// keepBack notes in the records why the jobs stay here.
func (s *sending) keepBack(ctx context.Context, os []*Outcome) error {
	at := map[string]string{}
	for _, o := range os {
		at[o.ID] = o.Choices[0].At
	}
	return s.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		if r.State != plugins.Intended {
			return nil
		}
		return KeptBack{At: at[r.ID]}
	})
}

// giveUp records that nobody took the jobs.
func (s *sending) giveUp(ctx context.Context, os []*Outcome) error {
	for _, o := range os {
		if o.Err == nil {
			o.Err = errors.New("no resource left to offer it to")
		}
	}
	errs := errorsOf(os)
	return s.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		if r.State != plugins.Intended || !s.mine(r) {
			return nil
		}
		if assigned(r) != nil {
			return Returned{Why: errs[r.ID].Error()}
		}
		gave := GaveUp{Why: errs[r.ID].Error()}
		if e, ok := errors.AsType[*plugins.Error](errs[r.ID]); ok && e.Kind == plugins.Credential {
			gave.Fault = plugins.CredentialsFault
		}
		return gave
	})
}

// mine reports whether this call may go on with a job that is intended.
func (s *sending) mine(r *Record) bool { return r.Owner == s.lease.Name() || s.free(r) }

// batch sends jobs to one endpoint: first the record, then the request.
func (s *sending) batch(ctx context.Context, os []*Outcome) (again []*Outcome, err error) {
	space, err := s.Store.Reserve(len(os))
	if err != nil {
		return nil, err
	}
	defer space.Free()
	choice := make(map[string]Choice, len(os))
	for _, o := range os {
		choice[o.ID] = o.Choices[0]
	}
	mine, err := s.claim(ctx, os, choice, brokerInfos(os, choice))
	if err != nil {
		return nil, err
	}
	results, reqs := s.request(ctx, mine, choice)
	space.Free()
	again, err = s.settle(ctx, mine, results, choice)
	s.sent(ctx, reqs, results, mine)
	return again, err
}

// claim commits "being submitted there, by me" before anything is sent, and
// returns the jobs that are ours then.
func (s *sending) claim(ctx context.Context, os []*Outcome, choice map[string]Choice, infos map[string]string) (mine []*Outcome, err error) {
	err = s.apply(ctx, os, func(r *Record) Event {
		if r.State != plugins.Intended || !s.mine(r) {
			return nil
		}
		return Claimed{Owner: s.lease.Name(), Choice: choice[r.ID], BrokerInfo: infos[r.ID]}
	})
	if errors.Is(err, context.Canceled) {
		for _, o := range os {
			o.Err = err
		}
		return nil, nil
	}
	for _, o := range os {
		switch {
		case o.Owner == s.lease.Name() && o.State == plugins.Submitting:
			mine = append(mine, o)
		case o.Err == nil && err != nil: // nothing could be recorded, so nothing is sent
			o.Err = fmt.Errorf("job %s was not sent: %w", o.ID, err)
		case o.Err == nil:
			o.Err = fmt.Errorf("job %s: another process is submitting it, or it is %s", o.ID, o.State)
		}
	}
	return mine, err
}

// after is the choices below the named one.
func after(cs []Choice, resource string) []Choice {
	for i := range cs {
		if cs[i].Resource == resource {
			return cs[i+1:]
		}
	}
	return nil
}

// request is the one bulk request to the endpoint.
func (s *sending) request(ctx context.Context, os []*Outcome, choice map[string]Choice) ([]plugins.Result, []plugins.Request) {
	if len(os) == 0 {
		return nil, nil
	}
	reqs := make([]plugins.Request, len(os))
	for i, o := range os {
		c := choice[o.ID]
		reqs[i] = plugins.Request{ID: o.requestID(), Job: plugins.WithBrokerInfo(o.job.Laid(), o.BrokerInfo), Endpoint: c.Endpoint, For: cameBack(o.Record, c.Endpoint.URL)}
		if ranked := o.ranked[c.Resource]; ranked != nil {
			reqs[i].Resource = ranked.Resource
			reqs[i].Job = reqs[i].Job.InTags(ranked.Resource.RuntimeEnvironments)
		}
	}
	e := reqs[0].Endpoint
	backend, ok := s.Registry.For(e.Interface)
	if !ok {
		return all(reqs, &plugins.Error{Kind: plugins.Unavailable, Op: "submit", Endpoint: e.URL, Said: "no back-end for " + e.Interface}), reqs
	}
	return s.submit(ctx, backend, reqs), reqs
}

// submit guards against faults of a back-end: after one the outcome is
// uncertain.
func (s *sending) submit(ctx context.Context, backend plugins.Submitter, reqs []plugins.Request) (results []plugins.Result) {
	uncertain := func(said string) []plugins.Result {
		return all(reqs, &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: reqs[0].Endpoint.URL, Said: said})
	}
	defer func() {
		if p := recover(); p != nil {
			results = uncertain(fmt.Sprint("internal error: ", p))
		}
	}()
	results = backend.Submit(ctx, reqs, s.Progress)
	if len(results) != len(reqs) {
		return uncertain(fmt.Sprintf("internal error: %d outcomes of %d jobs", len(results), len(reqs)))
	}
	return results
}

func all(reqs []plugins.Request, err error) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	for i := range results {
		results[i] = plugins.Result{ID: reqs[i].ID, Err: err}
	}
	return results
}

// settle records the outcomes and returns the jobs to be offered further.
func (s *sending) settle(ctx context.Context, os []*Outcome, results []plugins.Result, choice map[string]Choice) (again []*Outcome, err error) {
	result := make(map[string]plugins.Result, len(os))
	ids := make([]string, len(os))
	for i, o := range os {
		result[o.ID], ids[i] = results[i], o.ID
		o.Err = results[i].Err
	}
	at := clock.Read(s.Clock)
	err = s.apply(context.WithoutCancel(ctx), os, func(r *Record) Event {
		if r.State != plugins.Submitting || r.Owner != s.lease.Name() {
			return nil // another process took us for dead
		}
		return answered(ctx, r, result[r.ID], choice[r.ID], at)
	})
	if err != nil {
		for _, o := range os {
			o.Err = &plugins.Error{Kind: plugins.Uncertain, Op: "record job " + o.ID, Endpoint: o.Handle.Endpoint, Err: err}
		}
		return nil, &UnrecordedError{IDs: ids, Err: err}
	}
	for _, o := range os {
		if o.State == plugins.Intended {
			s.Scouts.back(o.Record)
			s.remember(ctx, o.Handle.Endpoint, o.Err)
			again = append(again, o)
		}
	}
	return again, nil
}

// answered is what an answer to a request means.
func answered(ctx context.Context, r *Record, res plugins.Result, c Choice, at clock.Reading) Event {
	if res.Err == nil {
		return Accepted{Handle: res.Handle}
	}
	e, ok := errors.AsType[*plugins.Error](res.Err)
	switch {
	case !ok || e.Kind == plugins.Uncertain:
		return Unanswered{Why: res.Err.Error(), At: at}
	case e.Kind == plugins.Invalid:
		if others := otherKinds(r.Choices, c); len(others) > 0 {
			return Unfit{Why: res.Err.Error(), Others: others}
		}
		return Invalid{Why: res.Err.Error()}
	case interrupted(ctx, res.Err):
		return Withdrawn{Choice: c}
	}
	return Refused{Kind: e.Kind, Why: res.Err.Error()}
}

// interrupted reports whether a request did not leave because the user ended
// the call: that is nobody's fault.
func interrupted(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*plugins.Error](err)
	return ok && e.Kind != plugins.Uncertain && ctx.Err() != nil && (errors.Is(err, context.Canceled) || e.Kind == plugins.Unavailable)
}

// otherKinds are the choices that a back-end of another kind stands for: what one cannot say to its batch system another may.
func otherKinds(cs []Choice, refused Choice) []Choice {
	return slices.DeleteFunc(slices.Clone(cs), func(c Choice) bool { return c.Endpoint.Interface == refused.Endpoint.Interface })
}

// remember marks an endpoint that could not be used at all.
func (s *sending) remember(ctx context.Context, endpoint string, err error) {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok || e.Kind == plugins.Refused || e.Kind == plugins.Invalid || interrupted(ctx, err) {
		return
	}
	s.Scouts.silent(endpoint, s.now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead[endpoint] = err
}
