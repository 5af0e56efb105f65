package jobs

import (
	"context"

	"gridbroker/plugins"
)

// sent tells the recorders of the requests of one batch. What they say does
// not matter to the jobs.
func (s *sending) sent(ctx context.Context, reqs []plugins.Request, results []plugins.Result, os []*Outcome) {
	attempts := make([]plugins.Attempt, 0, len(reqs))
	for i, q := range reqs {
		if interrupted(ctx, results[i].Err) || q.Resource == nil {
			continue
		}
		attempts = append(attempts, plugins.Attempt{ID: q.ID, Job: q.Job, Resource: q.Resource, Err: results[i].Err,
			Forecasts: os[i].ranked[q.Resource.ID].Forecasts})
	}
	if len(attempts) == 0 {
		return
	}
	for _, r := range s.Recorders {
		_ = r.Sent(context.WithoutCancel(ctx), attempts) // learning never stops a job
	}
}

// learn tells the recorders of jobs that came to their end.
func learn(ctx context.Context, c *Controller, ends []plugins.End) {
	if len(ends) == 0 {
		return
	}
	for _, r := range c.Recorders {
		_ = r.Ended(context.WithoutCancel(ctx), ends)
	}
}
