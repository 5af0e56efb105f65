package local

import (
	"context"
	"errors"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

var _ plugins.Forecaster = (*Backend)(nil)

// Name implements plugins.Forecaster.
func (b *Backend) Name() string { return "local" }

// goodFor is how long a forecast is used: jobs that end early or are submitted
// meanwhile are not in it.
const goodFor = time.Minute

// Forecast implements plugins.Forecaster: the engine runs the site's queue
// forward as the runner will, first come first served, with the limits as run
// times, and the job behind it; so a start is rather too late than too early, and
// one at once is certain.
func (b *Backend) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	all := map[string]rank.Forecast{}
	var errs []error
	for _, r := range rs {
		s := b.own(r)
		if s == nil {
			continue
		}
		start, ok, err := wait(ctx, s, job)
		errs = append(errs, err)
		if now := s.now(); ok {
			all[r.ID] = rank.Forecast{Source: r.ID, Made: now, GoodUntil: now.Add(goodFor), Median: start, High: start,
				PastError: glue.Some(max(time.Second, start/2))} // by how much limits are longer than runs
		}
	}
	return all, errors.Join(errs...)
}

// own is the site of a resource that our own source described; nil: none.
func (b *Backend) own(r *glue.Resource) *site {
	for _, e := range r.Endpoints {
		if e.Interface == glue.InterfaceLocal && r.Schema == "self" && r.ID == e.URL {
			if s, err := b.site(e.URL); err == nil && !s.Disabled {
				return s
			}
		}
	}
	return nil
}

// wait is how long the job would wait if it were submitted now; not ok: it would never start.
func wait(ctx context.Context, s *site, job *jdl.Job) (wait time.Duration, ok bool, err error) {
	state, err := (&reader{s}).Queue(ctx)
	if err != nil {
		return 0, false, err
	}
	f, err := (&batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}).Forecast(state)
	if err != nil {
		return 0, false, err
	}
	e, no := f.Ask(batch.Job{ID: "asked", Queue: s.Name, Procs: max(1, job.Demand.Slots), Requested: job.Demand.WallTime}, 0)
	return max(0, e.Start.Sub(f.At)), no.Cause == "", nil
}
