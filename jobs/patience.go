package jobs

import (
	"context"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

const (
	// defaultPatience is for how long a job that is followed may find no
	// resource before it fails.
	defaultPatience = time.Hour
	// lookAgain is the time between two looks for a resource.
	lookAgain = time.Minute
)

// nowhere deals with jobs that no resource takes. Where a later look may find
// one, within the patience given, they are planned again in a minute; else
// they fail.
func (c *Controller) nowhere(ctx context.Context, rs []*Record, match map[string]*broker.Match, patience time.Duration) error {
	errs := errorsOf(rs)
	hope := map[*broker.Match]bool{}
	for _, m := range match {
		if _, known := hope[m]; !known {
			hope[m] = m.MayPass()
		}
	}
	now := c.Now()
	err := c.Store.Update(ctx, rs, func(r *Record) Change {
		r.Reason = errs[r.ID].Error()
		first := r.Unmatched.IsZero()
		if first {
			r.Unmatched = now
		}
		if hope[match[r.ID]] && now.Before(r.patienceEnds(patience)) {
			r.NotBefore = now.Add(lookAgain)
			if !first {
				return Change{}
			}
			return Change{"wait for a match", r.Reason}
		}
		r.State, r.Ended, r.NoRetry = plugins.Failed, now, true
		return Change{"no match", r.Reason}
	})
	for _, r := range rs {
		if !r.Final() {
			r.err = nil // its Reason says what it waits for
		}
	}
	return err
}

// patienceEnds is when a job that nothing matches fails.
func (r *Record) patienceEnds(patience time.Duration) time.Time {
	end := r.Unmatched.Add(patience)
	if job, err := r.Job(); err == nil && !job.Expiry.IsZero() && job.Expiry.Before(end) {
		return job.Expiry
	}
	return end
}
