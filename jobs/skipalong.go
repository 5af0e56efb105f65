package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// A PreScript with SkipOn leaves the job of its node out. Where the node has become several jobs, these and the node of its
// PostScript say SkipAlong: they are left out where all that they come after were.

// skipAlong has jobs whose turn has come be done where all that they come after were left out, and returns the others.
func skipAlong(ctx context.Context, f *following, due []*Outcome) ([]*Outcome, error) {
	var skipped, others []*Outcome
	how := map[string]SkippedAlong{}
	for _, o := range due {
		with, err := skipsAlong(ctx, f.Controller, o)
		switch {
		case err != nil:
			return nil, err
		case with == nil:
			others = append(others, o)
		default:
			skipped, how[o.ID] = append(skipped, o), *with
		}
	}
	return others, f.apply(ctx, skipped, func(r *Record) Event {
		if r.State != plugins.Intended || !f.free(r) {
			return nil
		}
		return how[r.ID]
	})
}

// skipsAlong is what leaves a job out with all that it comes after; nil: nothing does.
func skipsAlong(ctx context.Context, c *Controller, o *Outcome) (*SkippedAlong, error) {
	if o.State != plugins.Intended || len(o.After) == 0 || !strings.Contains(o.JDL, "SkipAlong") { // most are not read
		return nil, nil
	}
	job, err := o.Job()
	if err != nil || !job.SkipAlong {
		return nil, nil
	}
	before, err := c.Store.Find(ctx, o.After)
	if err != nil || slices.ContainsFunc(before, func(r *Record) bool { return !leftOut(r) }) {
		return nil, err
	}
	run := before[0].Scripts.run(false)
	return &SkippedAlong{By: cmp.Or(run.Of, before[0].Node), Exit: *run.ExitCode}, nil
}
