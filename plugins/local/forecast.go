package local

import (
	"context"
	"errors"
	"sync"
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
		f, err := s.read.recent(ctx, s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if start, ok := wait(s, f, job); ok {
			all[r.ID] = rank.Forecast{Source: r.ID, Made: f.At, GoodUntil: f.At.Add(goodFor), Median: start, High: start,
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

// freshFor is for how long forecasts go by one reading of the queue: a broker asks
// about one kind of job after the other.
const freshFor = time.Second

// reading is what the queue was at one time, run forward.
type reading struct {
	mu   sync.Mutex
	at   time.Time
	last *batch.Forecast // nil: there is none
}

// drop forgets the reading: the queue is known to be another now.
func (r *reading) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = nil
}

// recent is a forecast of the site from a reading that is not older than freshFor. Those who
// ask at the same time share one.
func (r *reading) recent(ctx context.Context, s *site) (*batch.Forecast, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.now()
	if age := now.Sub(r.at); r.last != nil && age >= 0 && age < freshFor {
		return r.last, nil
	}
	state, err := (&reader{s}).Queue(ctx)
	if err != nil {
		return nil, err
	}
	f, err := (&batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}).Forecast(state)
	if err == nil {
		r.at, r.last = now, f
	}
	return f, err
}

// wait is how long the job would wait if it were submitted at the time of a
// forecast; not ok: it would never start.
func wait(s *site, f *batch.Forecast, job *jdl.Job) (wait time.Duration, ok bool) {
	e, no := f.Ask(batch.Job{ID: "asked", Queue: s.Name, Procs: max(1, job.Demand.Slots), Requested: job.Demand.WallTime}, 0)
	return max(0, e.Start.Sub(f.At)), no.Cause == ""
}
