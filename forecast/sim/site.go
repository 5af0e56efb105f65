package sim

import (
	"fmt"
	"strconv"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/rank"
)

// epoch is when runs begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// site is a cluster of a run: the batch engine, its local jobs, and what it publishes.
type site struct {
	*Site
	number   int
	engine   *batch.Engine
	local    []job
	nextOwn  int
	coming   []arrival // global jobs on their way, in order
	resource *glue.Resource
	told     int64 // when the state was published; -1: never
	busy     int   // processors in use
	asked    int   // processors that waiting jobs ask for
	used     float64
	outcome  func(global bool, number int, site *site, start, end time.Time)
	locals   waits
}

// arrival is a global job on its way to a site.
type arrival struct {
	at     int64
	number int
	job    *job
}

func newSite(s *Site, number int, local []job) (*site, error) {
	c := &site{Site: s, number: number, local: local, told: -1}
	state := batch.State{Now: epoch, Cluster: s.Name, Nodes: []batch.Node{{Name: "all", CPUs: s.Procs, Up: true}}}
	var err error
	if c.engine, err = batch.NewEngine(state, batch.Policy{Name: s.Scheduler}); err != nil {
		return nil, fmt.Errorf("site %s: %w", s.Name, err)
	}
	c.engine.Observe(c.see)
	c.resource = &glue.Resource{
		ID: s.Name, CEID: s.Name + ":8443/batch", Name: s.Name, CE: s.Name, Queue: "batch", LRMS: "slurm", Site: s.Name,
		Endpoints: []glue.Endpoint{{URL: "https://" + s.Name + "/arex", Interface: "org.nordugrid.arcrest"}},
		Serving:   glue.Production, TotalSlots: glue.Some(int64(s.Procs)), MaxSlotsPerJob: glue.Some(int64(s.Procs)),
		Benchmarks: map[string]float64{"hep-spec06": s.Speed * rank.DefaultModel().ReferenceHEPSPEC},
	}
	return c, nil
}

// see counts what happens on the cluster.
func (c *site) see(e batch.Event) {
	switch e.Kind {
	case batch.Submitted:
		c.asked += e.Job.Procs
	case batch.Started:
		c.asked -= e.Job.Procs
		c.busy += e.Job.Procs
		if e.Job.ID[0] == 'l' {
			c.locals.add(e.At.Sub(e.Job.Submitted).Seconds())
		}
	case batch.Ended, batch.TimedOut:
		c.busy -= e.Job.Procs
		c.used += e.At.Sub(e.Job.Started).Seconds() * float64(e.Job.Procs)
		if e.Job.ID[0] == 'g' {
			n, _ := strconv.Atoi(e.Job.ID[1:])
			c.outcome(true, n, c, e.Job.Started, e.At)
		}
	}
}

// advance lets everything happen up to a time, in seconds.
func (c *site) advance(to int64) error {
	for {
		var next *job
		at, global := to+1, false
		if c.nextOwn < len(c.local) && c.local[c.nextOwn].submit <= to {
			next, at = &c.local[c.nextOwn], c.local[c.nextOwn].submit
		}
		if len(c.coming) > 0 && c.coming[0].at <= to && c.coming[0].at < at {
			next, at, global = c.coming[0].job, c.coming[0].at, true
		}
		if next == nil {
			return c.engine.Advance(epoch.Add(time.Duration(to) * time.Second))
		}
		id := "l" + strconv.Itoa(c.nextOwn)
		if global {
			id = "g" + strconv.Itoa(c.coming[0].number)
			c.coming = c.coming[1:]
		} else {
			c.nextOwn++
		}
		run, limit := next.at(c.Speed)
		submitted := epoch.Add(time.Duration(at) * time.Second)
		j := batch.Job{ID: id, User: id[:1], Procs: next.procs, Requested: max(limit, run), Submitted: submitted}
		if err := c.engine.Submit(j, run); err != nil {
			return fmt.Errorf("site %s: %w", c.Name, err)
		}
	}
}

// drain lets all jobs end.
func (c *site) drain() error {
	last := int64(0)
	if n := len(c.local); n > 0 {
		last = c.local[n-1].submit
	}
	if n := len(c.coming); n > 0 {
		last = max(last, c.coming[n-1].at)
	}
	if err := c.advance(max(last, c.engine.Now().Unix()-epoch.Unix())); err != nil {
		return err
	}
	for c.engine.Step() {
	}
	return nil
}

// publish renews what the site tells of itself, as often as it does.
func (c *site) publish(now int64) {
	if c.told >= 0 && now < c.told+int64(c.Refresh.Seconds()) {
		return
	}
	c.told = now
	r := *c.resource
	r.FreeSlots, r.UsedSlots = glue.Some(int64(c.Procs-c.busy)), glue.Some(int64(c.busy))
	r.Running, r.Waiting = glue.Some(int64(c.engine.Running())), glue.Some(int64(c.engine.Waiting()))
	r.Created = epoch.Add(time.Duration(now) * time.Second)
	r.Fetched = r.Created
	r.Seal()
	c.resource = &r
}

// starts says when a job would start if it came now, by a belief in run times.
func (c *site) starts(j *job, belief batch.Belief) (time.Time, bool) {
	run, limit := j.at(c.Speed)
	f := c.engine.Forecast(&batch.Forecaster{Policy: batch.Policy{Name: c.Scheduler}, Belief: belief})
	size := batch.Size{Procs: j.procs, Limit: max(limit, run)}
	if _, perfect := belief.(batch.Perfect); perfect {
		size.Duration = run
	}
	at := f.Earliest([]batch.Size{size})[0]
	return at, !at.IsZero()
}
