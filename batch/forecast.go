package batch

import (
	"slices"
	"sync"
	"time"
)

// Forecaster foretells what a cluster's queue will do: the cluster's policy
// is run forward from a State with believed run times, nothing arriving.
type Forecaster struct {
	Policy Policy
	Belief Belief  // Estimate where nil
	Errors *Errors // how far off forecasts were; nil: not known
	// Beside learns run times beside the Belief, for Foresee; nil: nobody asks.
	Beside *Similar
	users  names
}

// Learn teaches the belief a job of the cluster that has ended after run.
func (f *Forecaster) Learn(j Job, run time.Duration) {
	f.learn(&Task{
		Run: int64(run / time.Second), Limit: int64(j.Requested / time.Second), Procs: j.Procs, User: f.users.of(j.User),
	})
}

func (f *Forecaster) learn(t *Task) {
	f.belief().Learn(t)
	if f.Beside != nil {
		f.Beside.Learn(t)
	}
}

// Forecast is the schedule expected of a cluster. Its methods may be called by
// several goroutines at once, as long as its Forecaster is not used meanwhile;
// a Snapshot has one of its own.
type Forecast struct {
	At      time.Time
	Cluster string
	Jobs    []Expected // waiting jobs in the order in which they start
	Refused []Refusal  // waiting jobs that will not start as things are
	c       *cluster
	f       *Forecaster
	held    []span // all that is expected to run, by start
	mu      sync.Mutex
	paper   *paper // of an Engine; nil: every question is worked out in memory of its own
}

// Expected is when a waiting job is expected to run. Low and High bound the
// start with the chance of the quantiles learned (10 % to 90 %); they are
// zero where nothing was learned.
type Expected struct {
	ID         string
	Start, End time.Time
	Low, High  time.Time
	Placed     []Placement // empty where any processors will do
}

// span is a job's believed time on the machine.
type span struct {
	from, to int64
	job      job
}

// Forecast foretells from a state.
func (f *Forecaster) Forecast(s State) (*Forecast, error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	return f.forecast(c), nil
}

// before is a forecast of what starts before a time alone: what is expected later
// is not in it.
func (f *Forecaster) before(c *cluster, until int64, memory *forward) (*Forecast, *forward) {
	out := &Forecast{At: time.Unix(c.now, 0).UTC(), Cluster: c.state.Cluster, c: c, f: f}
	run := c.forward(f.belief(), memory)
	for _, d := range run.ends {
		out.held = append(out.held, span{c.now, d.at, run.m.jobs[d.job]})
	}
	for j, ok := run.next(); ok && j.start < until; j, ok = run.next() {
		out.held = append(out.held, span{j.start, run.end(j, 0), *j})
	}
	out.held = run.cut(out.held)
	return out, run
}

// fixed tells whether beliefs do not change as time goes by.
func (f *Forecaster) fixed() bool {
	_, ok := f.belief().(Estimate)
	return ok
}

func (f *Forecaster) belief() Belief {
	if f.Belief == nil {
		return Estimate{}
	}
	return f.Belief
}

func (f *Forecaster) forecast(c *cluster) *Forecast {
	b := f.belief()
	out := &Forecast{At: time.Unix(c.now, 0).UTC(), Cluster: c.state.Cluster, Refused: slices.Clone(c.refuse), c: c, f: f}
	run := c.forward(b, nil)
	out.held, out.Jobs = make([]span, 0, len(run.ends)+run.m.wait), make([]Expected, 0, run.m.wait)
	for _, d := range run.ends {
		out.held = append(out.held, span{c.now, d.at, run.m.jobs[d.job]})
	}
	for j, ok := run.next(); ok; j, ok = run.next() {
		end := run.end(j, 0)
		out.held = append(out.held, span{j.start, end, *j})
		out.Jobs = append(out.Jobs, f.expected(c, j, end))
	}
	out.held = run.cut(out.held)
	out.Refused = append(out.Refused, left(c, run.m)...)
	return out
}

func (f *Forecaster) expected(c *cluster, j *job, end int64) Expected {
	e := Expected{ID: c.state.Jobs[j.ID].ID, Start: time.Unix(j.start, 0).UTC(), End: time.Unix(end, 0).UTC()}
	e.Placed = c.nodes.placed(j.shares)
	if f.Errors == nil {
		return e
	}
	wait := j.start - c.now
	low, ok := f.Errors.Quantile(wait, 0.1)
	if high, ok2 := f.Errors.Quantile(wait, 0.9); ok && ok2 {
		e.Low = time.Unix(c.now+max(0, wait+min(low, 0)), 0).UTC()
		e.High = time.Unix(c.now+max(0, wait+max(high, 0)), 0).UTC()
	}
	return e
}
