package local

import (
	"context"
	"errors"
	"slices"
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
// one at once is certain. A job that names no limit is taken to run as long as those
// that ended here last.
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
			all[r.ID] = rank.Forecast{Source: r.Source, Made: f.At, GoodUntil: f.At.Add(goodFor), Median: start, High: start,
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
	suppose(s, state.Jobs, now)
	f, err := (&batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}}).Forecast(state)
	if err == nil {
		r.at, r.last = now, f
	}
	return f, err
}

const (
	fewEnded  = 3  // ended jobs tell how long jobs run here
	manyEnded = 20 // are as good as all
	// mostSeen is how many jobs that came last are looked at for that: of thousands that never started none tells.
	mostSeen = 200
	// unknownRun is taken where fewer ended: what the broker takes for jobs that nobody knows (prior_run).
	unknownRun = time.Hour
)

// suppose gives jobs that name no limit the run time of those that ended here last; one that has run
// for longer is taken to need as long again.
func suppose(s *site, jobs []batch.Job, now time.Time) {
	open := func(j batch.Job) bool { return j.Requested >= s.MaxWall }
	if !slices.ContainsFunc(jobs, open) {
		return
	}
	usual := usualRun(s, jobs)
	for i := range jobs {
		if !open(jobs[i]) {
			continue
		}
		jobs[i].Requested = usual
		if ran := now.Sub(jobs[i].Started); !jobs[i].Started.IsZero() && ran >= usual {
			jobs[i].Requested = 2 * ran
		}
	}
}

// usualRun is the mean run time of the jobs that came last of those that have ended, jobs being the others. Ids are in the
// order of time.
func usualRun(s *site, jobs []batch.Job) time.Duration {
	ids, err := s.names("jobs")
	if err != nil {
		return unknownRun
	}
	living := make(map[string]bool, len(jobs))
	for i := range jobs {
		living[jobs[i].ID] = true
	}
	n, seen, sum := 0, 0, time.Duration(0)
	for i := len(ids) - 1; i >= 0 && n < manyEnded && seen < mostSeen; i-- {
		if living[ids[i]] {
			continue
		}
		seen++
		if st, err := s.status(ids[i]); err == nil && st.State.Final() && !st.Started.IsZero() {
			sum += max(time.Second, st.Ran)
			n++
		}
	}
	if n < fewEnded {
		return unknownRun
	}
	return sum / time.Duration(n)
}

// wait is how long the job would wait if it were submitted at the time of a
// forecast; not ok: it would never start.
func wait(s *site, f *batch.Forecast, job *jdl.Job) (wait time.Duration, ok bool) {
	e, no := f.Ask(batch.Job{ID: "asked", Queue: s.Name, Procs: max(1, job.Demand.Slots), Requested: job.Demand.WallTime}, 0)
	return max(0, e.Start.Sub(f.At)), no.Cause == ""
}
