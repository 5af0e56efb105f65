package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/plugins"
)

// maxEndpoints is how many endpoints are talked to at once.
const maxEndpoints = 32

// sending is one call of Send.
type sending struct {
	*Controller
	lease *lease
	mu    sync.Mutex
	dead  map[string]error // endpoints that failed in this call
}

// Send offers each job to its choices, best first, until one takes it: one
// bulk request per endpoint, endpoints in parallel. An endpoint that could
// not be reached is not tried again in this call. A job with an uncertain
// outcome is not offered further: it may have arrived.
//
// What became of each job is in its record and in its Err; the error of Send
// is that of the job records themselves.
func (c *Controller) Send(ctx context.Context, rs []*Record) error {
	if c.Store == nil {
		return errNoStore
	}
	if len(rs) == 0 {
		return nil
	}
	l, err := c.Store.lease(newIDs(c.Now(), 1)[0])
	if err != nil {
		return err
	}
	defer l.end()
	s := &sending{Controller: c, lease: l, dead: map[string]error{}}
	for len(rs) > 0 {
		if rs, err = s.round(ctx, rs); err != nil {
			return err
		}
	}
	return nil
}

// round offers every job once and returns those to be offered further.
func (s *sending) round(ctx context.Context, rs []*Record) (again []*Record, err error) {
	batches, lost, kept := s.batches(rs)
	if err := errors.Join(s.giveUp(ctx, lost), s.keepBack(ctx, kept)); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		for _, r := range rs {
			r.err = ctx.Err() // still intended: can be submitted again
		}
		return nil, nil
	}
	var g errgroup.Group
	g.SetLimit(maxEndpoints)
	for _, batch := range batches {
		g.Go(func() error {
			more, err := s.batch(ctx, batch)
			s.mu.Lock()
			again = append(again, more...)
			s.mu.Unlock()
			return err
		})
	}
	return again, g.Wait()
}

// batches groups jobs by the endpoint of their best choice, passing over
// dead ones. Jobs without a choice left are lost; those that wait for scouts
// are kept.
func (s *sending) batches(rs []*Record) (batches [][]*Record, lost, kept []*Record) {
	at := map[string]int{}
	for _, r := range rs {
		for len(r.Choices) > 0 && s.dead[r.Choices[0].Endpoint.URL] != nil {
			r.err = s.dead[r.Choices[0].Endpoint.URL]
			r.Choices = r.Choices[1:]
		}
		if len(r.Choices) == 0 {
			lost = append(lost, r)
			continue
		}
		if !s.Scouts.choose(r) {
			kept = append(kept, r)
			continue
		}
		e := r.Choices[0].Endpoint
		i, ok := at[e.Interface+" "+e.URL]
		if !ok {
			i = len(batches)
			at[e.Interface+" "+e.URL] = i
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], r)
	}
	return batches, lost, kept
}

// keepBack notes in the records why the jobs stay here.
func (s *sending) keepBack(ctx context.Context, rs []*Record) error {
	at := map[string]string{}
	for _, r := range rs {
		at[r.ID] = r.Choices[0].At
	}
	return s.Store.Update(context.WithoutCancel(ctx), rs, func(r *Record) Change {
		if r.State == plugins.Intended {
			r.Reason = "waits until the first jobs at " + at[r.ID] + " have shown that it runs them"
		}
		return Change{}
	})
}

// giveUp records that nobody took the jobs.
func (s *sending) giveUp(ctx context.Context, rs []*Record) error {
	for _, r := range rs {
		if r.err == nil {
			r.err = errors.New("no resource left to offer it to")
		}
	}
	errs := errorsOf(rs)
	return s.Store.Update(context.WithoutCancel(ctx), rs, func(r *Record) Change {
		r.State, r.Reason, r.Owner, r.Choices = plugins.Failed, "nobody took it; the last said: "+errs[r.ID].Error(), "", nil
		return Change{"give up", r.Reason}
	})
}

func errorsOf(rs []*Record) map[string]error {
	errs := make(map[string]error, len(rs))
	for _, r := range rs {
		errs[r.ID] = r.err
	}
	return errs
}

// batch sends jobs to one endpoint: first the record, then the request.
func (s *sending) batch(ctx context.Context, rs []*Record) (again []*Record, err error) {
	choice := make(map[string]Choice, len(rs))
	for _, r := range rs {
		choice[r.ID] = r.Choices[0]
	}
	if err := s.claim(ctx, rs, choice); err != nil {
		return nil, err
	}
	mine := rs[:0:0]
	for _, r := range rs {
		if r.Owner == s.lease.name && r.State == plugins.Submitting {
			mine = append(mine, r)
		} else {
			r.err = fmt.Errorf("job %s: another process is submitting it, or it is %s", r.ID, r.State)
		}
	}
	results, reqs := s.request(ctx, mine, choice)
	again, err = s.settle(ctx, mine, results)
	s.sent(ctx, reqs, results, mine, choice)
	return again, err
}

// claim commits "being submitted there, by me" before anything is sent.
func (s *sending) claim(ctx context.Context, rs []*Record, choice map[string]Choice) error {
	now := s.Now()
	return s.Store.Update(ctx, rs, func(r *Record) Change {
		if r.State != plugins.Intended || r.Owner != "" && r.Owner != s.lease.name && s.Store.alive(r.Owner) {
			return Change{}
		}
		c := choice[r.ID]
		r.State, r.Owner, r.Sent, r.Reason, r.Native = plugins.Submitting, s.lease.name, now, "", ""
		r.Resource, r.At, r.Site, r.Predicted = c.Resource, c.At, c.Site, c.Predicted
		r.Handle = plugins.Handle{Interface: c.Endpoint.Interface, Endpoint: c.Endpoint.URL}
		r.Attempts++
		r.Tried = append(r.Tried, c.Resource)
		r.Choices = after(r.Choices, c.Resource)
		return Change{"send", "to " + c.At + " at " + c.Endpoint.URL + " as " + r.requestID()}
	})
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
func (s *sending) request(ctx context.Context, rs []*Record, choice map[string]Choice) ([]plugins.Result, []plugins.Request) {
	if len(rs) == 0 {
		return nil, nil
	}
	reqs := make([]plugins.Request, len(rs))
	for i, r := range rs {
		c := choice[r.ID]
		reqs[i] = plugins.Request{ID: r.requestID(), Job: r.job, Endpoint: c.Endpoint}
		if c.ranked != nil {
			reqs[i].Resource = c.ranked.Resource
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
func (s *sending) settle(ctx context.Context, rs []*Record, results []plugins.Result) (again []*Record, err error) {
	result := make(map[string]plugins.Result, len(rs))
	now := s.Now()
	for i, r := range rs {
		result[r.ID] = results[i]
		r.err = results[i].Err
	}
	err = s.Store.Update(context.WithoutCancel(ctx), rs, func(r *Record) Change { return r.settle(result[r.ID], now) })
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		if r.State == plugins.Intended {
			s.Scouts.back(r)
			s.remember(r.Handle.Endpoint, r.err)
			again = append(again, r)
		}
	}
	return again, nil
}

// remember marks an endpoint that could not be used at all.
func (s *sending) remember(endpoint string, err error) {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok || e.Kind == plugins.Refused {
		return
	}
	s.Scouts.silent(endpoint, s.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead[endpoint] = err
}

// settle writes one outcome into the record.
func (r *Record) settle(res plugins.Result, now time.Time) Change {
	r.Owner = ""
	if res.Err == nil {
		r.State, r.Handle, r.Submitted, r.Reason, r.Choices = plugins.Accepted, res.Handle, now, "", nil
		return Change{"accepted", "as " + res.Handle.ID}
	}
	r.Reason = res.Err.Error()
	e, ok := errors.AsType[*plugins.Error](res.Err)
	switch {
	case !ok || e.Kind == plugins.Uncertain:
		return Change{"uncertain", r.Reason}
	case e.Kind == plugins.Invalid:
		r.State, r.NoRetry = plugins.Failed, true
		return Change{"invalid", r.Reason}
	}
	r.State = plugins.Intended
	return Change{e.Kind.String(), r.Reason}
}
