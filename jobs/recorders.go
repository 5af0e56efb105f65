package jobs

import (
	"context"

	"gridbroker/plugins"
)

// sent tells the recorders of the requests of one batch. What they say does
// not matter to the jobs.
func (s *sending) sent(ctx context.Context, reqs []plugins.Request, results []plugins.Result, rs []*Record, choice map[string]Choice) {
	if len(reqs) == 0 {
		return
	}
	attempts := make([]plugins.Attempt, len(reqs))
	for i, q := range reqs {
		attempts[i] = plugins.Attempt{ID: q.ID, Job: q.Job, Resource: q.Resource, Err: results[i].Err}
		if c := choice[rs[i].ID]; c.ranked != nil {
			attempts[i].Forecasts = c.ranked.Forecasts
		}
	}
	for _, r := range s.Recorders {
		_ = r.Sent(context.WithoutCancel(ctx), attempts) // learning never stops a job
	}
}

// ended tells the recorders of jobs that came to their end.
func (c *Controller) ended(ctx context.Context, ends []plugins.End) {
	if len(ends) == 0 {
		return
	}
	for _, r := range c.Recorders {
		_ = r.Ended(context.WithoutCancel(ctx), ends)
	}
}
