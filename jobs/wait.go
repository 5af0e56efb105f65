package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Origin is where a job's user told it to look for resources. The zero Origin
// is what the configuration says at the time.
type Origin struct {
	Sources []string `json:"sources,omitempty"` // URLs
	Sites   []string `json:"sites,omitempty"`   // patterns, as Rules.Sites
	// Attributes are those that the jobs look at and that nobody asks for
	// otherwise, lower-cased.
	Attributes []string `json:"attributes,omitempty"`
}

// Discover finds the resources that jobs of an origin may go to.
type Discover func(context.Context, Origin) ([]*glue.Resource, error)

// Waiting is how jobs are followed to their end.
type Waiting struct {
	// Discover gives fresh resources for jobs that are sent again or that
	// waited for others.
	Discover Discover
	// Seen is called after every look at the jobs; may be nil.
	Seen func([]*Record)
	// Pause is the longest time between looks; 0: ten seconds. The first
	// looks are closer together.
	Pause time.Duration
	// Patience is for how long a job that nothing takes now, but perhaps
	// later, is looked for again; 0: one hour. The job's ExpiryTime ends it, too.
	Patience time.Duration
}

// Wait follows jobs until all have ended, or ctx ends. On the way it sends
// jobs whose predecessors are done, and sends failed jobs again as their
// RetryCount and ShallowRetryCount allow, never to a resource where they
// failed.
func (c *Controller) Wait(ctx context.Context, rs []*Record, w Waiting) error {
	longest := w.Pause
	if longest <= 0 {
		longest = 10 * time.Second
	}
	pause := min(longest, 200*time.Millisecond)
	for {
		ended, err := c.step(ctx, rs, w)
		if w.Seen != nil {
			w.Seen(rs)
		}
		if err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(longest, pause*5/4)
	}
}

// step looks once and does what is due. It reports whether all jobs have ended.
func (c *Controller) step(ctx context.Context, rs []*Record, w Waiting) (bool, error) {
	if err := c.Refresh(ctx, rs); err != nil {
		return false, err
	}
	due, err := c.due(ctx, rs)
	if err != nil {
		return false, err
	}
	if err := c.sendAgain(ctx, due, w.Discover, cmp.Or(w.Patience, defaultPatience)); err != nil {
		return false, err
	}
	for _, r := range rs {
		if !r.Final() {
			return false, nil
		}
	}
	return true, nil
}

// due lists jobs to be sent now: those that failed and may be tried again,
// and those all of whose predecessors are done. Jobs after a failed one fail.
func (c *Controller) due(ctx context.Context, rs []*Record) ([]*Record, error) {
	byID := map[string]*Record{}
	busy := map[string]int{}
	var failed, lost, ready []*Record
	for _, r := range rs {
		byID[r.ID] = r
		if !r.Final() && r.State != plugins.Intended {
			busy[r.Parent]++
		}
		if again, err := r.mayRetry(c.Now()); err != nil {
			return nil, err
		} else if again {
			failed = append(failed, r)
		}
	}
	if err := c.retry(ctx, failed); err != nil {
		return nil, err
	}
	for _, r := range rs {
		if r.State != plugins.Intended || c.Now().Before(r.NotBefore) || r.Owner != "" && c.Store.alive(r.Owner) {
			continue
		}
		state, err := c.before(ctx, r, byID)
		if err != nil {
			return nil, err
		}
		switch {
		case state == plugins.Failed:
			lost = append(lost, r)
		case state == plugins.Done && (r.MaxRunning == 0 || busy[r.Parent] < r.MaxRunning):
			busy[r.Parent]++
			ready = append(ready, r)
		}
	}
	c.Scouts.see(rs, c.Now())
	ready = c.Scouts.due(ready, rs)
	return ready, c.Store.Update(ctx, lost, func(r *Record) Change {
		r.State, r.Reason, r.Ended = plugins.Failed, "a job it comes after has failed", c.Now()
		r.NoRetry = true
		return Change{"failed", r.Reason}
	})
}

// before sums up the predecessors: Done when all are done with exit code 0,
// Failed when one has failed for good or was forgotten, else Queued.
func (c *Controller) before(ctx context.Context, r *Record, byID map[string]*Record) (plugins.State, error) {
	state := plugins.Done
	for _, id := range r.After {
		p := byID[id]
		if p == nil { // not among those waited for
			found, err := c.Store.Find(ctx, []string{id})
			if _, forgotten := errors.AsType[*IDError](err); forgotten {
				return plugins.Failed, nil
			}
			if err != nil {
				return "", err
			}
			p = found[0]
		}
		switch {
		case p.Failure():
			return plugins.Failed, nil
		case !p.Final():
			state = plugins.Queued
		}
	}
	return state, nil
}

// mayRetry reports whether a failed job may be sent again: before it ran by
// the shallow count, after by the deep one. A shallow count that is used up
// or off leaves the deep one. What ran to its end is not a failure of the
// grid, whatever its exit code. After the job's ExpiryTime nothing is tried.
func (r *Record) mayRetry(now time.Time) (bool, error) {
	if r.State != plugins.Failed && r.State != plugins.Lost || !r.Cancelled.IsZero() || r.NoRetry {
		return false, nil
	}
	job, err := r.Job()
	if err != nil {
		return false, err
	}
	if !job.Expiry.IsZero() && now.After(job.Expiry) {
		return false, nil
	}
	return r.Started.IsZero() && r.Shallow < job.ShallowRetry || r.Retries < job.RetryCount, nil
}

// retry takes failed jobs back to Intended, unless another process did.
func (c *Controller) retry(ctx context.Context, rs []*Record) error {
	return c.Store.Update(ctx, rs, func(r *Record) Change {
		if again, err := r.mayRetry(c.Now()); err != nil || !again {
			return Change{}
		}
		job, err := r.Job()
		if err != nil {
			return Change{}
		}
		kind := "resubmit"
		if r.Started.IsZero() && r.Shallow < job.ShallowRetry {
			r.Shallow++
			kind = "resubmit (shallow)"
		} else {
			r.Retries++
		}
		why := r.Reason
		r.again()
		return Change{kind, "failed at " + r.At + ": " + why}
	})
}

// again makes the record ready for a new attempt, keeping the old one among
// its past.
func (r *Record) again() {
	if r.Handle.ID != "" {
		r.Past = append(r.Past, Past{Resource: r.Resource, Handle: r.Handle, State: r.State, Reason: r.Reason})
	}
	r.State, r.Native, r.Reason, r.Owner = plugins.Intended, "", "", ""
	r.Handle = plugins.Handle{}
	r.ExitCode, r.Host, r.Output = nil, "", ""
	r.Submitted, r.Started, r.Ended, r.Expires, r.Cancelled = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	r.WallTime, r.CPUTime, r.MaxMemory, r.NoRetry = 0, 0, 0, false
	r.Unmatched, r.NotBefore = time.Time{}, time.Time{}
}

// SendAgain plans jobs that are intended and sends them, each to resources of
// its origin, never to where it was tried before. A job that nothing matches
// now fails.
func (c *Controller) SendAgain(ctx context.Context, rs []*Record, discover Discover) error {
	return c.sendAgain(ctx, rs, discover, 0)
}

// sendAgain is SendAgain with patience for jobs that nothing matches now.
func (c *Controller) sendAgain(ctx context.Context, rs []*Record, discover Discover, patience time.Duration) error {
	for _, group := range byOrigin(rs) {
		from := group[0].Origin
		found, err := discover(ctx, from)
		if err != nil {
			return err
		}
		of := *c
		if len(c.Rules.Sites) == 0 {
			there := *c.Broker
			there.Rules.Sites = from.Sites
			of.Broker = &there
		}
		if err := of.sendTo(ctx, group, found, patience); err != nil {
			return err
		}
	}
	return nil
}

// byOrigin groups jobs of equal origin, in order of the first of each.
func byOrigin(rs []*Record) (groups [][]*Record) {
	at := map[string]int{}
	for _, r := range rs {
		key := strings.Join(r.Origin.Sources, "\n") + "\n\n" + strings.Join(r.Origin.Sites, "\n") + "\n\n" + strings.Join(r.Origin.Attributes, "\n")
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// sendTo plans jobs over the resources found and sends them.
func (c *Controller) sendTo(ctx context.Context, rs []*Record, found []*glue.Resource, patience time.Duration) error {
	jobs := make([]*jdl.Job, 0, len(rs))
	at := map[*jdl.Job]*Record{}
	for _, r := range rs {
		job, err := r.Job()
		if err != nil {
			return err
		}
		jobs = append(jobs, job)
		at[job] = r
	}
	p, err := c.planAvoiding(ctx, jobs, found, func(job *jdl.Job) []string { return at[job].Tried })
	if err != nil {
		return err
	}
	var send, none []*Record
	match := map[string]*broker.Match{}
	for i := range p.Jobs {
		r := at[p.Jobs[i].Job]
		if r.err = p.Jobs[i].Err; r.err != nil {
			none = append(none, r)
			match[r.ID] = p.Jobs[i].Match
			continue
		}
		r.Choices = c.choices(p.Jobs[i].Choices)
		send = append(send, r)
	}
	if err := c.nowhere(ctx, none, match, patience); err != nil {
		return err
	}
	fresh := map[string][]Choice{}
	for _, r := range send {
		fresh[r.ID] = r.Choices
	}
	if err := c.Store.Update(ctx, send, func(r *Record) Change {
		r.Choices = fresh[r.ID]
		return Change{}
	}); err != nil {
		return err
	}
	return c.Send(ctx, send)
}

// Resubmit sends jobs anew: such as ended, and such as never arrived. With
// anywhere set also to resources where they were tried before.
func (c *Controller) Resubmit(ctx context.Context, rs []*Record, discover Discover, anywhere bool) error {
	if err := c.Reconcile(ctx, rs); err != nil {
		return err
	}
	var ready []*Record
	err := c.Store.Update(ctx, rs, func(r *Record) Change {
		if !r.Final() && r.State != plugins.Intended || r.Owner != "" && c.Store.alive(r.Owner) {
			return Change{}
		}
		r.again()
		if anywhere {
			r.Tried = nil
		}
		return Change{"resubmit", "by the user"}
	})
	if err != nil {
		return err
	}
	for _, r := range rs {
		switch {
		case r.State == plugins.Intended:
			ready = append(ready, r)
		case r.err == nil:
			r.err = fmt.Errorf("job %s is %s: only ended jobs and such as never arrived can be submitted again", r.ID, r.State)
		}
	}
	return c.SendAgain(ctx, ready, discover)
}

// IsUncertain reports whether an error leaves open whether a request arrived.
func IsUncertain(err error) bool {
	e, ok := errors.AsType[*plugins.Error](err)
	return ok && e.Kind == plugins.Uncertain
}
