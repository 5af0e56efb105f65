package simtest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/broker/brokertest"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// story is one run of the simulation.
type story struct {
	*world
	shared *shared
	net    *network
	found  []*glue.Resource
	jobs   []*jdl.Job
	sets   []*jdl.JobSet
	shifts []*time.Duration // of the machines' clocks
}

// perStory is how many jobs a story begins with.
const perStory = 50

func newStory(seed uint64, texts *descriptions, planted plant) *story {
	w := newWorld(seed)
	s := &story{world: w, jobs: texts.single}
	s.net = &network{world: w, ces: map[string]*ce{}, plant: planted, tardy: w.chance(0.2), within: 4 * time.Minute}
	if planted == straysForgotten {
		s.net.tardy = true
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		r := brokertest.Site(name, func(r *glue.Resource) { r.Created = begin })
		c := &ce{url: r.Endpoints[0].URL, jobs: map[string]*instance{}, refused: map[string]error{}, full: 0.1 * w.rng.Float64()}
		s.net.ces[c.url] = c
		s.found = append(s.found, r)
	}
	s.shared = &shared{Store: jobs.NewMemory(func() time.Time { return w.now }), leases: map[string]*process{}, plant: planted}
	for range 2 {
		s.shifts = append(s.shifts, new(time.Duration))
	}
	s.sets = []*jdl.JobSet{texts.dag}
	s.jobs = append(append([]*jdl.Job{}, texts.single...), texts.dag.Jobs...)
	return s
}

func (s *story) discover(context.Context, jobs.Origin) ([]*glue.Resource, error) { return s.found, nil }

// horizon is when the troubles end.
const horizon = 14 * time.Hour

// play lets everything go wrong, then mends the network and follows all jobs
// to their end.
func (s *story) play() {
	ctx := context.Background()
	s.start(s.now, "submit", s.kill(0.7, 60), s.shifts[0], func(p *process) {
		c := p.controller(s.shared, s.net, false)
		plan, err := c.Plan(ctx, s.jobs, s.found)
		if err != nil {
			panic(err)
		}
		if os, err := c.Submit(ctx, plan, s.sets...); err == nil {
			_ = c.Wait(ctx, os, jobs.Waiting{Discover: s.discover, Pause: 20 * time.Minute})
		}
	})
	for i, shift := range s.shifts {
		s.start(begin.Add(s.between(time.Second, 3*time.Hour)), fmt.Sprint("watch", i), s.kill(0.5, 200), shift, func(p *process) { s.watch(ctx, p) })
	}
	s.start(begin.Add(s.between(time.Minute, 6*time.Hour)), "cancel", s.kill(0.3, 20), s.shifts[1], func(p *process) { s.cancelSome(ctx, p) })
	s.start(begin.Add(s.between(time.Hour, 8*time.Hour)), "resubmit", s.kill(0.3, 20), s.shifts[0], func(p *process) { s.resubmitSome(ctx, p) })
	s.troubles()
	s.at(begin.Add(horizon), func() { s.net.calm = true })
	s.start(begin.Add(horizon+time.Hour), "end", 0, s.shifts[0], func(p *process) { s.watch(ctx, p) })
	s.start(begin.Add(horizon+4*time.Hour), "end", 0, s.shifts[1], func(p *process) { s.watch(ctx, p) })
	if s.net.tardy { // whoever looks when all has arrived finds it
		s.start(begin.Add(horizon+tardiest+time.Hour), "end", 0, s.shifts[0], func(p *process) { s.watch(ctx, p) })
	}
	s.run()
	if len(s.faults) == 0 {
		s.judge()
	}
	for _, fault := range s.faults {
		s.trace("fault: %s", fault)
	}
}

// kill is the effect at which a process is killed, 0 for never.
func (s *story) kill(chance float64, most int) int {
	if !s.chance(chance) {
		return 0
	}
	return 1 + s.rng.IntN(most)
}

// watch follows all jobs as long as it lives.
func (s *story) watch(ctx context.Context, p *process) {
	c := p.controller(s.shared, s.net, true)
	rs, err := c.Store.Select(ctx, jobs.Query{})
	if err == nil {
		_ = c.Wait(ctx, jobs.Outcomes(rs), jobs.Waiting{Discover: s.discover, Pause: 20 * time.Minute})
	}
}

func (s *story) some(ctx context.Context, c *jobs.Controller) []*jobs.Outcome {
	rs, err := c.Store.Select(ctx, jobs.Query{})
	if err != nil || len(rs) == 0 {
		return nil
	}
	from := s.rng.IntN(len(rs))
	return jobs.Outcomes(rs[from:min(len(rs), from+5)])
}

func (s *story) cancelSome(ctx context.Context, p *process) {
	c := p.controller(s.shared, s.net, false)
	_ = c.Cancel(ctx, s.some(ctx, c))
}

func (s *story) resubmitSome(ctx context.Context, p *process) {
	c := p.controller(s.shared, s.net, false)
	_ = c.Resubmit(ctx, s.some(ctx, c), jobs.Anew{Discover: s.discover, Anywhere: s.chance(0.5)})
}

// troubles are computing elements that go down and come back, with old state
// at first, and clocks that are set.
func (s *story) troubles() {
	for _, name := range []string{"a", "b", "c", "d"} {
		c := s.net.ces["https://"+name+"/arex"]
		for range 3 {
			s.at(begin.Add(s.between(0, horizon)), func() {
				c.down = s.now.Add(s.between(time.Minute, 30*time.Minute))
				c.since = s.now.Add(-s.between(0, time.Hour))
				c.blind = c.down.Add(s.between(0, jobs.MissingTime/2))
				s.trace("%s is down until %s, and blind for what came after %s until %s", c.url, c.down, c.since, c.blind)
			})
		}
	}
	for _, shift := range s.shifts {
		for range 2 {
			s.at(begin.Add(s.between(0, horizon)), func() {
				*shift = s.between(-2*time.Hour, 2*time.Hour)
				s.trace("a clock is off by %s", *shift)
			})
		}
	}
}

// judge compares records and computing elements at the end.
func (s *story) judge() {
	rs, err := s.shared.Store.Select(context.Background(), jobs.Query{})
	if err != nil {
		s.fault("%v", err)
		return
	}
	known := map[string]bool{}
	for _, r := range rs {
		for _, id := range s.judgeOne(r) {
			known[id] = true
		}
	}
	for _, c := range s.net.ces {
		for id, i := range c.jobs {
			if !known[c.url+" their-"+id] && i.cancelled.IsZero() {
				s.fault("%s is at %s and no record says so", id, c.url)
			}
		}
	}
}

// judgeOne compares a record with what it says is at computing elements, and
// returns what it names there.
func (s *story) judgeOne(r *jobs.Record) (names []string) {
	if !r.Final() {
		s.fault("job %s is %s at the end: %s", r.ID, r.State, r.Reason)
	}
	well := 0
	for _, c := range s.net.ces {
		for _, i := range c.jobs {
			if i.job == r.ID && i.cancelled.IsZero() && i.how.State == plugins.Done && i.how.ExitCode.V == 0 {
				well++
			}
		}
	}
	if well > 1 && !s.net.tardy {
		s.fault("job %s has run %d times", r.ID, well)
	}
	if r.Handle.ID != "" {
		names = append(names, r.Handle.Endpoint+" "+r.Handle.ID)
		i := s.net.ces[r.Handle.Endpoint].jobs[r.Handle.ID[len("their-"):]]
		if i == nil {
			s.fault("job %s is %s at %s, which never had it", r.ID, r.State, r.Handle.Endpoint)
		} else if st := i.status(s.now); r.State == plugins.Done && (st.State != plugins.Done || st.ExitCode.V != *r.ExitCode) {
			s.fault("job %s is reported done with exit code %d, and is %s", r.ID, *r.ExitCode, st.State)
		}
	} else if r.State == plugins.Done {
		s.fault("job %s is reported done and is nowhere", r.ID)
	}
	for _, p := range r.Past {
		if p.Handle.ID != "" {
			names = append(names, p.Handle.Endpoint+" "+p.Handle.ID)
		}
	}
	return names
}

func (s *story) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// descriptions are parsed once: every story has the same jobs.
type descriptions struct {
	single []*jdl.Job
	dag    *jdl.JobSet
}

func describe(t testing.TB) *descriptions {
	t.Helper()
	d := &descriptions{}
	text := `Executable = "/bin/true"; RetryCount = 2; WallTime = "1 h";`
	for i := range perStory - 4 {
		d.single = append(d.single, brokertest.ParseJob(asT(t), text, func(j *jdl.Job) { j.Name = fmt.Sprint("job", i) }))
	}
	d.dag = &jdl.JobSet{Kind: jdl.DAG, MaxRunning: 2}
	for _, n := range [][]string{{"top"}, {"left", "top"}, {"right", "top"}, {"end", "left", "right"}} {
		d.dag.Jobs = append(d.dag.Jobs, brokertest.ParseJob(asT(t), text, func(j *jdl.Job) { j.Name, j.Node, j.After = n[0], n[0], n[1:] }))
	}
	return d
}

func asT(t testing.TB) *testing.T { return t.(*testing.T) }

// one plays one story and returns what broke.
func one(seed uint64, d *descriptions, planted plant) []string {
	s := newStory(seed, d, planted)
	s.play()
	return s.faults
}

// tell shows the log of the job at fault.
func (s *story) tell(t *testing.T, name string) {
	rs, _ := s.shared.Store.Select(t.Context(), jobs.Query{})
	for _, r := range rs {
		if r.Name != name && !(name == "open" && !r.Final()) && !(name == "fault" && len(s.faults) > 0 && strings.Contains(s.faults[0], r.ID)) {
			continue
		}
		log, _ := s.shared.Store.Log(t.Context(), r.ID)
		for _, e := range log {
			t.Logf("%s  %s  %s %s", e.At.Sub(begin), e.Job, e.Action, e.Text)
		}
	}
}

// many plays stories until one breaks, and returns it.
func many(t *testing.T, stories int, planted plant) (seed uint64, faults []string) {
	t.Helper()
	d := describe(t)
	var next, bad atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for bad.Load() == 0 {
				n := next.Add(1)
				if int(n) > stories {
					return
				}
				if got := one(uint64(n), d, planted); len(got) > 0 {
					bad.Add(1)
					mu.Lock()
					seed, faults = uint64(n), got
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return seed, faults
}

// No job is lost, none is at two places, none is reported done that is not,
// whatever happens to processes, clocks, network and computing elements.
// GRID_SIM_SUBMISSIONS says how many jobs are submitted, GRID_SIM_SEED replays
// one story and shows what happens in it.
func TestSimulation(t *testing.T) {
	if text := os.Getenv("GRID_SIM_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := newStory(seed, describe(t), plant(os.Getenv("GRID_SIM_PLANT")))
		s.trace = func(format string, args ...any) { t.Logf("%s  "+format, append([]any{s.now.Sub(begin)}, args...)...) }
		s.play()
		for _, f := range s.faults {
			t.Error(f)
		}
		if id := os.Getenv("GRID_SIM_JOB"); id != "" {
			s.tell(t, id)
		}
		return
	}
	submissions := 100_000
	if !testbed.Whole(t) {
		submissions = 2_000
	}
	if text := os.Getenv("GRID_SIM_SUBMISSIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		submissions = n
	}
	begun := time.Now()
	if seed, faults := many(t, submissions/perStory, ""); len(faults) > 0 {
		t.Fatalf("GRID_SIM_SEED=%d: %d faults: %s", seed, len(faults), faults[0])
	}
	t.Logf("%d submissions in %s", submissions, time.Since(begun).Round(time.Millisecond))
}

// The simulation sees faults that are planted in what lies around the program,
// each of which takes one of its safeguards away.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, p := range []plant{noSettling, straysForgotten, unsafeStore, blindFinder, wrongKind} {
		seed, faults := many(t, 400, p)
		if len(faults) == 0 {
			t.Errorf("not found: %s", p)
			continue
		}
		t.Logf("%s: found in story %d: %s", p, seed, faults[0])
	}
}
