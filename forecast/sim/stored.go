package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/durable"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler"
	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// stored is the central scheduler as it serves: agents look at their sites' queues
// and publish deltas, jobs are taken into a database, each cycle is a
// transaction, and what it decides goes through the outbox to the sites.
type stored struct {
	door
	scheduler *scheduler.Scheduler
	store     *scheduler.Store
	turns     *scheduler.Turns
	dir       string
	agents    []*agent.Agent // by site
	looked    []int64        // by site: when its agent last did
	failures  map[int]int    // by job: how often it failed
	handed    map[int]string // jobs that the scheduler has and that have not ended, and what it calls them
	past      []ended        // that ended lately, the first of them first
	at        int64
	last      int64 // when anything was handed in, began or ended
}

// opener makes a scheduler's database in a file.
type opener func(ctx context.Context, path string, seal *scheduler.Seal) (*scheduler.Store, error)

func newStored(ctx context.Context, g *grid, db opener) (*stored, error) {
	dir, err := durable.MkdirTemp("grid-sim-")
	if err != nil {
		return nil, err
	}
	c := &stored{door: newDoor(g), dir: dir, at: never, failures: map[int]int{}, handed: map[int]string{}}
	err = c.open(ctx, db)
	if err == nil {
		err = os.RemoveAll(dir) // the file is there while it is open, and nothing is left behind, however this ends
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("the scheduler's database in %s: %w", dir, err)
	}
	for _, s := range g.sites {
		s.begun = c.begun
		c.agents, c.looked = append(c.agents, c.agentOf(s)), append(c.looked, -1)
	}
	return c, nil
}

// open makes the database and the scheduler that leads it.
func (c *stored) open(ctx context.Context, db opener) error {
	seal, err := scheduler.NewSeal(scheduler.NewKey())
	if err != nil {
		return err
	}
	if c.store, err = db(ctx, filepath.Join(c.dir, "scheduler.db"), seal); err != nil {
		return err
	}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Name: "simulated", Interfaces: []string{glue.InterfaceARCREST}}, Submitter: c.door})
	if err != nil {
		return err
	}
	back := func(context.Context, string, []byte) (*plugins.Registry, func(), error) { return reg, func() {}, nil }
	c.scheduler = scheduler.New(c.config(), c.store, back, c.Now, slog.New(slog.DiscardHandler))
	c.turns, err = scheduler.NewTurns(ctx, c.scheduler)
	return err
}

// config is the scheduler's.
func (c *stored) config() scheduler.Config {
	seed := [32]byte{17}
	binary.LittleEndian.PutUint64(seed[1:], c.run.Seed)
	conf := scheduler.Config{
		Chance:    rand.NewChaCha8(seed), // ids decide between jobs of one instant
		Stopwatch: c.Now,
		Name:      "simulated", Cycle: c.scenario.Cycle.Duration, Grace: missedAfter, Horizon: horizon, MaxBypass: 200, Free: true, NoHistory: true,
		Spool: c.dir, Clusters: map[string]scheduler.ClusterConfig{}, MaxJobs: c.jobs.count * (1 + c.scenario.Jobs.Retries),
	}
	for _, s := range c.sites {
		e := s.resource.Endpoints[0]
		conf.Clusters[s.Name] = scheduler.ClusterConfig{Interface: e.Interface, Endpoint: e.URL}
	}
	return conf
}

// close gives the database back.
func (c *stored) close() {
	if c.store != nil {
		c.store.Close()
	}
	os.RemoveAll(c.dir)
}

// agentOf is the agent of a site.
func (c *stored) agentOf(s *site) *agent.Agent {
	conf := s.owner()
	conf.Near = true
	conf.Scheduler, conf.TTL = "http://scheduler", max(2*time.Minute, 3*s.looks(), 3*c.scenario.Cycle.Duration)
	return &agent.Agent{
		Conf:   *conf,
		Reader: &queueOf{site: s}, Forecast: &batch.Forecaster{Policy: batch.Policy{Name: s.Scheduler}, Belief: batch.Estimate{}},
		Link: ear{c, s.Name}, Now: c.Now, Log: slog.New(slog.DiscardHandler),
	}
}

func (c *stored) wake() int64 { return c.at }

// arrive hands a job to the scheduler.
func (c *stored) arrive(ctx context.Context, number int) error {
	ctx = context.WithoutCancel(ctx) // see turn
	c.run.Messages++
	j := c.job(number)
	if !slices.ContainsFunc(c.sites, func(s *site) bool { return s.Procs >= j.procs }) {
		c.unplaced(number)
		return nil
	}
	who := scheduler.Person{Subject: fmt.Sprint("user", j.user)}
	text := fmt.Sprintf("[ Executable = \"/bin/job\"; CPUNumber = %d; WallTime = %d; Requirements = true; ]", j.procs, j.limit)
	taken, err := c.scheduler.Submit(ctx, who, []scheduler.Submission{{Key: fmt.Sprint(number, ".", c.failures[number]), JDL: text, Priority: 1}})
	if err != nil {
		return err
	}
	if taken[0].Error != "" {
		return fmt.Errorf("job %d: the scheduler says: %s", number, taken[0].Error)
	}
	c.numbers[taken[0].ID], c.handed[number], c.last = number, taken[0].ID, c.now
	if c.at == never {
		cycle := int64(c.scenario.Cycle.Seconds())
		c.at = (c.now/cycle + 1) * cycle
	}
	return nil
}

// turn lets the agents look and the scheduler take its turn.
func (c *stored) turn(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // each statement of the database would watch it; between turns it is asked
	for i, s := range c.sites {
		if err := s.advance(c.now); err != nil {
			return err
		}
		if s.down || s.mute || c.looked[i] >= 0 && c.now < c.looked[i]+int64(s.looks().Seconds()) {
			continue
		}
		c.looked[i] = c.now
		if err := c.agents[i].Step(ctx); err != nil {
			return fmt.Errorf("agent of %s: %w", s.Name, err)
		}
	}
	if err := c.turns.Take(ctx); err != nil {
		return err
	}
	c.at += int64(c.scenario.Cycle.Seconds())
	c.forget()
	if c.stuck() {
		if err := c.giveUp(); err != nil {
			return err
		}
	}
	if len(c.handed) == 0 {
		c.at = never
	}
	return nil
}

// stuck says whether nothing began or ended for so long that nothing will: what is sent
// and comes too late for its slot is sent again and again.
func (c *stored) stuck() bool {
	if c.next < c.jobs.count || len(c.again) > 0 || len(c.troubles) > 0 || c.now < c.last+2*int64(horizon.Seconds()) {
		return false
	}
	return !slices.ContainsFunc(c.sites, func(s *site) bool { return s.engine.Running() > 0 || s.own.submit != never })
}

// giveUp takes all that has not begun back from the sites.
func (c *stored) giveUp() error {
	for number := range c.handed {
		c.unplaced(number)
	}
	clear(c.handed)
	for _, s := range c.sites {
		s.coming = nil
		for _, j := range s.engine.State().Jobs {
			if err := s.engine.Cancel(j.ID, c.Now()); err != nil { // nothing runs
				return err
			}
		}
	}
	return nil
}

// begun is told of every start.
func (c *stored) begun(number int, id string, s *site, start time.Time) {
	c.door.begun(number, id, s, start)
	c.last = c.now
}

// left is told of every end; users hand in again what failed.
func (c *stored) left(number int, id string, s *site, start, end time.Time, well bool) {
	c.door.left(number, id, s, start, end, well)
	c.last = c.now
	if !well && c.states[attemptOf(id)].state == plugins.Cancelled {
		return // taken back by the scheduler, which plans it anew
	}
	failed := !well && c.failures[number] >= c.scenario.Jobs.Retries
	c.past = append(c.past, ended{c.handed[number], number, c.job(number).tries, c.now, well || failed})
	delete(c.handed, number)
	switch {
	case failed:
		c.run.Failed++
	case !well:
		c.failures[number]++
		c.later(number, max(end.Unix()-epoch.Unix(), c.now)+retryAfter)
	}
}

// ended is a job whose end the scheduler is yet to see, bring home and forget.
type ended struct {
	record        string
	number, tries int // the job's, by then
	at            int64
	last          bool // it comes no more
}

// forgetAfter is for how many seconds sites know of jobs that have ended: by then nobody asks about them any more.
const forgetAfter = 24 * 3600

// forget drops what was kept of jobs that ended long ago.
func (c *stored) forget() {
	for len(c.past) > 0 && c.past[0].at+forgetAfter <= c.now {
		delete(c.numbers, c.past[0].record)
		for k := range c.past[0].tries {
			delete(c.states, theAttempt(c.past[0].number, k))
		}
		if c.past[0].last {
			c.forgetJob(c.past[0].number)
			delete(c.failures, c.past[0].number)
		}
		c.past = c.past[1:]
	}
}

// ear is where a site's agent reaches the scheduler, without a network in between: what
// it tells is counted as a message.
type ear struct {
	*stored
	cluster string
}

// Delta implements agent.Link.
func (e ear) Delta(ctx context.Context, d *wire.Delta) (*wire.Ack, error) {
	return e.heard(scheduler.Listener{Scheduler: e.scheduler}.Ingest(ctx, d, nil))
}

// Beat implements agent.Link.
func (e ear) Beat(ctx context.Context, b *wire.Beat) (*wire.Ack, error) {
	return e.heard(scheduler.Listener{Scheduler: e.scheduler}.Beat(ctx, b))
}

// Have implements agent.Link.
func (e ear) Have(ctx context.Context) (*wire.Ack, error) {
	return e.heard(e.store.Have(ctx, e.cluster, e.Now()))
}

func (e ear) heard(ack *wire.Ack, err error) (*wire.Ack, error) {
	e.run.Messages++
	if err != nil {
		return nil, &agent.RefusedError{Code: http.StatusConflict, Said: err.Error()}
	}
	return ack, nil
}

// queueOf shows an agent the queue of its site, or what the site says of itself. Where
// nothing has happened since the last look it is what was shown then, at another time.
type queueOf struct {
	*site
	last batch.State
	room []batch.Job // of the picture before: its agent holds the last one
	seen int         // of the site's events, by then
}

// Queue implements plugins.QueueReader.
func (q *queueOf) Queue(context.Context) (batch.State, error) {
	if q.last.Now.IsZero() || q.seen != q.events {
		was := q.last.Jobs
		q.last, q.seen = batch.StateIn(q.engine, q.room), q.events
		q.room = was
		q.last.Mark = uint64(q.events) + 1
	}
	state := q.last
	state.Now = q.engine.Now()
	switch q.Lie {
	case "idle":
		state.Jobs = nil
	case "full":
		state.Nodes = q.nodes(false)
	}
	return state, nil
}
