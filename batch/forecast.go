package batch

import (
	"slices"
	"time"
)

// Forecaster foretells what a cluster's queue will do: the cluster's policy
// is run forward from a State with believed run times, nothing arriving.
type Forecaster struct {
	Policy Policy
	Belief Belief  // Estimate where nil
	Errors *Errors // how far off forecasts were; nil: not known
	users  names
}

// Learn teaches the belief a job of the cluster that has ended after run.
func (f *Forecaster) Learn(j Job, run time.Duration) {
	if f.Belief == nil {
		return
	}
	f.Belief.Learn(&Task{
		Run: int64(run / time.Second), Limit: int64(j.Requested / time.Second), Procs: j.Procs, User: f.users.of(j.User),
	})
}

// Forecast is the schedule expected of a cluster.
type Forecast struct {
	At      time.Time
	Cluster string
	Jobs    []Expected // waiting jobs in the order in which they start
	Refused []Refusal  // waiting jobs that will not start as things are
	c       *cluster
	held    []span // all that is expected to run, by start
	expect  plan   // processors by the believed run times
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

func (f *Forecaster) belief() Belief {
	if f.Belief == nil {
		return Estimate{}
	}
	return f.Belief
}

func (f *Forecaster) forecast(c *cluster) *Forecast {
	b := f.belief()
	out := &Forecast{At: time.Unix(c.now, 0).UTC(), Cluster: c.state.Cluster, Refused: slices.Clone(c.refuse), c: c}
	run := c.forward(b, nil)
	for _, d := range run.ends {
		out.held = append(out.held, span{c.now, d.at, run.m.jobs[d.job]})
	}
	for j, ok := run.next(); ok; j, ok = run.next() {
		end := run.end(j, 0)
		out.held = append(out.held, span{j.start, end, *j})
		out.Jobs = append(out.Jobs, f.expected(c, j, end))
	}
	out.Refused = append(out.Refused, c.left(run.m)...)
	return out
}

func (f *Forecaster) expected(c *cluster, j *job, end int64) Expected {
	e := Expected{ID: c.state.Jobs[j.ID].ID, Start: time.Unix(j.start, 0).UTC(), End: time.Unix(end, 0).UTC()}
	e.Placed = c.placed(j.shares)
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

// Size is a job that might be submitted.
type Size struct {
	Procs, Nodes int
	Memory       int64 // MB per processor
	GPUs         int   // per node
	Queue        string
	Features     []string
	Duration     time.Duration // believed run time
}

// Earliest says when a job of each size would start that took only what the
// expected schedule leaves free; zero: never.
func (f *Forecast) Earliest(sizes []Size) []time.Time {
	if f.expect == nil {
		f.expect = f.c.expect(f.held)
	}
	list := make([]time.Time, len(sizes))
	for i, s := range sizes {
		j := job{procs: int32(max(1, s.Procs)), limit: max(1, int64(s.Duration/time.Second))}
		j.Need = f.c.need(&Job{Nodes: s.Nodes, Memory: s.Memory, GPUs: s.GPUs, Queue: s.Queue, Features: s.Features})
		if s.Procs > f.c.procs {
			continue
		}
		if at := f.expect.earliest(&j, f.c.now, never); at < never {
			list[i] = time.Unix(at, 0).UTC()
		}
	}
	return list
}

// expect is the plan of what is expected to run, with the reservations.
func (c *cluster) expect(held []span) plan {
	nodes, byNode := c.plan.(*nodePlan)
	if !byNode {
		p := newPool(c.now, c.procs)
		for i := range held {
			p.occupy(&held[i].job, held[i].from, held[i].to)
		}
		for _, r := range c.state.Reservations {
			p.occupy(&job{procs: int32(min(r.Procs, c.procs))}, max(c.now, r.Start.Unix()), r.End.Unix())
		}
		return p
	}
	p := newNodePlan(c.now, c.amounts())
	for i := range nodes.nodes {
		for _, h := range nodes.nodes[i].held {
			if h.owner < 0 {
				p.keep(h.within, h.from, h.to, []share{{int32(i), h.procs}})
			}
		}
	}
	for i := range held {
		p.hold(&held[i].job, held[i].from, held[i].to, held[i].job.shares)
	}
	return p
}

// Slot is a stretch of time in which CPUs of a node are expected to be free.
type Slot struct {
	Node     string
	From, To time.Time // To is zero where no end is in sight
	CPUs     int
	Memory   int64 // MB
}

// Slots lists the expected free time of every node up to the horizon, by node
// and time. Where any processors will do for the jobs, those that are expected
// to start are put on the first nodes with room.
func (f *Forecast) Slots(horizon time.Duration) []Slot {
	p := f.c.packed(f.held)
	end := f.c.now + int64(horizon/time.Second)
	var list []Slot
	for i := range p.nodes {
		name := f.c.state.Nodes[f.c.up[i]].Name
		list = append(list, p.nodes[i].slots(name, f.c.now, end)...)
	}
	return list
}

// slots lists the steps of a node's free processors.
func (t *timeline) slots(name string, now, end int64) (list []Slot) {
	slices.SortFunc(t.held, func(a, b holding) int { return int(a.from - b.from) })
	times := []int64{now}
	for _, h := range t.held {
		times = append(times, h.from, h.to)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	free, used := int32(-1), amounts{}
	for i, at := range times {
		if at < now || at >= end {
			continue
		}
		used = t.at(at, 0)
		n := t.have.procs - used.procs
		if k := len(list) - 1; k >= 0 && list[k].To.IsZero() && free != n {
			list[k].To = time.Unix(at, 0).UTC()
		}
		if n > 0 && (n != free || i == 0) {
			list = append(list, Slot{Node: name, From: time.Unix(at, 0).UTC(), CPUs: int(n), Memory: t.have.memory - used.memory})
		}
		free = n
	}
	if k := len(list) - 1; k >= 0 && list[k].To.IsZero() && times[len(times)-1] > end {
		list[k].To = time.Unix(end, 0).UTC()
	}
	return list
}
