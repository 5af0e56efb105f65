package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/rank"
)

// epoch is when runs begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// never is later than everything.
const never = math.MaxInt64

// site is a cluster of a run: the batch engine, its local jobs, and what it publishes.
type site struct {
	*Site
	number   int
	engine   *batch.Engine
	local    stream
	own      job           // the next local job; its submission is never behind the last
	owns     int           // local jobs that have come
	ownWait  map[int]int64 // when those that wait were submitted
	coming   []arrival     // global jobs on their way, in order
	resource *glue.Resource
	// spare is where the next record is written, as nobody looks at what is there; nil: older records are kept.
	spare   *glue.Resource
	place   int   // of its record among those of all sites, which are in the order of their IDs
	told    int64 // when the state was published; -1: never
	says    int   // how often it was published
	busy    int   // processors in use
	asked   int   // processors that waiting jobs ask for
	used    float64
	locals  waits
	running []string // global jobs
	events  int      // of the machine and on it so far

	down, mute, hole, closed bool           // failures under way
	lasting                  map[string]int // how many of each kind

	// ended is told of every global job that leaves the machine: with success,
	// or lost with the site or in a black hole.
	ended  func(number int, id string, c *site, start, end time.Time, well bool)
	begun  func(number int, id string, c *site, start time.Time)
	killed map[string]bool
}

// arrival is a global job on its way to a site.
type arrival struct {
	at     int64
	id     string    // g, the job's number, a dot, the attempt
	begin  time.Time // not before
	number int
	job    *job
}

// globalID names an attempt of a global job in an engine.
func globalID(number, attempt int) string {
	return "g" + strconv.Itoa(number) + "." + strconv.Itoa(attempt)
}

// attempt is one of a job, in one number.
type attempt int64

// maxAttempts bounds those of a job.
const maxAttempts = 1 << 20

// theAttempt is the so-many-th of a job, from 0 on.
func theAttempt(job, number int) attempt { return attempt(job*maxAttempts + number) }

// attemptOf is the one of a name.
func attemptOf(id string) attempt {
	job, number := 0, 0
	for i := 1; i < len(id); i++ {
		if id[i] == '.' {
			job, number = number, 0
			continue
		}
		number = 10*number + int(id[i]-'0')
	}
	return theAttempt(job, number)
}

// numberOf is the job of an attempt.
func numberOf(id string) int {
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "g"), ".")
	n, _ := strconv.Atoi(digits)
	return n
}

func newSite(s *Site, number int, local stream) (*site, error) {
	c := &site{Site: s, number: number, local: local, told: -1, ownWait: map[int]int64{}, killed: map[string]bool{}}
	err := c.readOwn()
	if err != nil {
		return nil, err
	}
	state := batch.State{Now: epoch, Cluster: s.Name, Nodes: c.nodes(true)}
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

func (c *site) nodes(up bool) []batch.Node {
	return []batch.Node{{Name: "all", CPUs: c.Procs, Up: up}}
}

// see counts what happens on the cluster.
func (c *site) see(e batch.Event) {
	global := e.Job.ID[0] == 'g'
	c.events++
	switch e.Kind {
	case batch.Submitted:
		c.asked += e.Job.Procs
	case batch.Started:
		c.asked -= e.Job.Procs
		c.busy += e.Job.Procs
		if global {
			c.running = append(c.running, e.Job.ID)
			if c.begun != nil {
				c.begun(numberOf(e.Job.ID), e.Job.ID, c, e.At)
			}
		} else {
			number, _ := strconv.Atoi(e.Job.ID[1:])
			c.locals.add(float64(e.At.Unix() - epoch.Unix() - c.ownWait[number])) // as it may have come while the machine was down
			delete(c.ownWait, number)
		}
	case batch.Cancelled, batch.Ended, batch.TimedOut, batch.NodeLost:
		if e.Job.Started.IsZero() {
			c.asked -= e.Job.Procs
			return
		}
		c.busy -= e.Job.Procs
		c.used += e.At.Sub(e.Job.Started).Seconds() * float64(e.Job.Procs)
		if global {
			c.running = slices.DeleteFunc(c.running, func(id string) bool { return id == e.Job.ID })
			well := e.Kind == batch.Ended && !c.killed[e.Job.ID]
			delete(c.killed, e.Job.ID)
			c.ended(numberOf(e.Job.ID), e.Job.ID, c, e.Job.Started, e.At, well)
		}
	}
}

// comes is when the next local and the next global job are here; never while the
// machine is down: they wait until it is back.
func (c *site) comes() (own, global int64) {
	own, global = never, never
	if !c.down {
		own = c.own.submit
	}
	if len(c.coming) > 0 && !c.down {
		global = c.coming[0].at
	}
	return own, global
}

// next is when something happens here by itself.
func (c *site) next() int64 {
	own, global := c.comes()
	at := min(own, global)
	if t := c.engine.Next(); !t.IsZero() {
		at = min(at, t.Unix()-epoch.Unix())
	}
	return at
}

// advance lets everything happen up to a time, in seconds.
func (c *site) advance(to int64) error {
	to = max(to, c.engine.Now().Unix()-epoch.Unix()) // who waited for a machine that was down is due in its past
	for {
		own, global := c.comes()
		if min(own, global) > to {
			return c.engine.Advance(epoch.Add(time.Duration(to) * time.Second))
		}
		if own <= global {
			if err := c.submitOwn(); err != nil {
				return err
			}
			continue
		}
		a := c.coming[0]
		c.coming = c.coming[1:]
		if err := c.submit(a.id, a.job, global, a.begin); err != nil {
			return err
		}
	}
}

// submitOwn puts the next local job into the queue.
func (c *site) submitOwn() error {
	j, number := c.own, c.owns
	c.owns++
	c.ownWait[number] = j.submit
	if err := c.submit("l"+strconv.Itoa(number), &j, j.submit, time.Time{}); err != nil {
		return err
	}
	return c.readOwn()
}

// readOwn looks at the next local job.
func (c *site) readOwn() (err error) {
	c.own, err = c.local.next()
	if errors.Is(err, io.EOF) {
		c.own, err = job{submit: never}, nil
	}
	return err
}

// submit puts a job into the queue of the cluster.
func (c *site) submit(id string, j *job, at int64, begin time.Time) error {
	run, limit := j.at(c.Speed)
	if c.hole && id[0] == 'g' {
		run = min(run, 20*time.Second)
		c.killed[id] = true
	}
	submitted := epoch.Add(time.Duration(at) * time.Second)
	if now := c.engine.Now(); submitted.Before(now) {
		submitted = now
	}
	described := batch.Job{ID: id, User: id[:1], Procs: j.procs, Requested: max(limit, run), Submitted: submitted, Begin: begin}
	if err := c.engine.Submit(described, run); err != nil {
		return fmt.Errorf("site %s: %w", c.Name, err)
	}
	return nil
}

// send puts a job on its way, behind those that arrive no later.
func (c *site) send(a arrival) {
	at := len(c.coming)
	for at > 0 && c.coming[at-1].at > a.at {
		at--
	}
	c.coming = slices.Insert(c.coming, at, a)
}

// drain lets all jobs end.
func (c *site) drain() error {
	for {
		at := c.next()
		if at == never {
			return nil
		}
		if err := c.advance(at); err != nil {
			return err
		}
	}
}

// due says whether the site publishes anew at a time.
func (c *site) due(now int64) bool {
	return !c.down && !c.mute && (c.told < 0 || now >= c.told+int64(c.Refresh.Seconds()))
}

// publish renews what the site tells of itself.
func (c *site) publish(now int64) {
	c.told = now
	c.says++
	r := c.spare
	if r == nil {
		r = new(*c.resource) // records do not change; those of jobs keep the older ones
	} else {
		c.spare = c.resource
	}
	busy, waiting := int64(c.busy), int64(c.engine.Waiting())
	switch c.Lie {
	case "idle":
		busy, waiting = 0, 0
	case "full":
		busy, waiting = int64(c.Procs), max(waiting, 1000)
	}
	r.FreeSlots, r.UsedSlots = glue.Some(int64(c.Procs)-busy), glue.Some(busy)
	r.Running, r.Waiting = glue.Some(int64(c.engine.Running())), glue.Some(waiting)
	r.Created = epoch.Add(time.Duration(now) * time.Second)
	r.Fetched = r.Created
	c.resource = r
}

// fail lets the machine go down, with the jobs that run on it, or come back.
func (c *site) fail(down bool, at time.Time) error {
	c.down = down
	c.events++
	return c.engine.Configure(c.nodes(!down), nil, nil, at)
}

// looks is how often a central scheduler's agent looks at the queue.
func (c *site) looks() time.Duration {
	if c.Agent.Duration > 0 {
		return c.Agent.Duration
	}
	return c.Refresh.Duration
}

// starts says when a job would start if it came now, by a belief in run times.
func (c *site) starts(j *job, belief batch.Belief) (time.Time, bool) {
	run, limit := j.at(c.Speed)
	size := batch.Size{Procs: j.procs, Limit: max(limit, run)}
	if _, perfect := belief.(batch.Perfect); perfect {
		size.Duration = run
	}
	at := c.engine.Earliest(&batch.Forecaster{Policy: batch.Policy{Name: c.Scheduler}, Belief: belief}, []batch.Size{size})[0]
	return at, !at.IsZero()
}
