package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/rank"
	"gridbroker/testdata/testbed"
)

// What follows plays the policies "independent", "oracle", "fastest-queue" and "metacluster" once more, second by second and
// as plainly as their rules can be said, over sites that start jobs in the order in which they came. Only
// the jobs that are drawn are the simulator's own.

// plainJob is an attempt of a job at a site; times in seconds.
type plainJob struct {
	number     int // of the global job; -1: local
	procs      int
	came       int64 // local: when it was submitted
	run        int64
	start, end int64
	doomed     bool // it came into a black hole
}

// plainSite is a site with its queue.
type plainSite struct {
	*Site
	local              []job
	coming             []plainArrival
	queue, running     []*plainJob
	down, hole, closed int // how many such failures last
	told               int64
	free0, waits0      int // as published then
}

type plainArrival struct {
	at int64
	plainJob
}

// plainGrid is a run.
type plainGrid struct {
	s          *Scenario
	jobs       []job
	sites      []*plainSite
	rng        *rand.Rand
	again      map[int64][]int // jobs to be handed in again, by time
	policy     string
	seed       uint64
	result     Run
	waits      []float64
	completion float64
	local      waits
}

// free counts the processors that are not in use.
func (c *plainSite) free() int {
	n := c.Procs
	for _, j := range c.running {
		n -= j.procs
	}
	return n
}

// begin starts what may start at a time: the first of the queue, then the next.
func (g *plainGrid) begin(c *plainSite, now int64) {
	for c.down == 0 && len(c.queue) > 0 && c.queue[0].procs <= c.free() {
		j := c.queue[0]
		c.queue = c.queue[1:]
		j.start, j.end = now, now+j.run
		c.running = append(c.running, j)
		if j.number < 0 {
			g.local.add(float64(now - j.came))
		}
	}
}

// ended is told of jobs that leave a site.
func (g *plainGrid) ended(c *plainSite, j *plainJob, now int64, well bool) {
	if j.number < 0 {
		return
	}
	of := &g.jobs[j.number]
	if !well || j.doomed {
		g.fail(j.number, now)
		return
	}
	g.result.Jobs++
	if g.s.Sites[of.home].Name != c.Name {
		g.result.Away++
	}
	g.waits = append(g.waits, float64(j.start-of.submit))
	g.completion += float64(now - of.submit)
}

// fail has a job handed in again by its user five minutes later, as often as he does that.
func (g *plainGrid) fail(number int, now int64) {
	if g.jobs[number].tries++; g.jobs[number].tries > g.s.Jobs.Retries {
		g.result.Failed++
		return
	}
	g.result.Again++
	g.again[now+300] = append(g.again[now+300], number)
	slices.Sort(g.again[now+300])
}

// second lets happen at a site what is due.
func (g *plainGrid) second(c *plainSite, now int64) {
	for _, j := range slices.Clone(c.running) {
		if j.end == now {
			c.running = slices.DeleteFunc(c.running, func(o *plainJob) bool { return o == j })
			g.ended(c, j, now, true)
			g.begin(c, now)
		}
	}
	for c.down == 0 {
		own, global := int64(math.MaxInt64), int64(math.MaxInt64)
		if len(c.local) > 0 {
			own = c.local[0].submit
		}
		if len(c.coming) > 0 {
			global = c.coming[0].at
		}
		if min(own, global) > now {
			break
		}
		if own <= global {
			l := c.local[0]
			run, _ := l.at(c.Speed)
			c.local, c.queue = c.local[1:], append(c.queue, &plainJob{number: -1, procs: l.procs, came: l.submit, run: int64(run.Seconds())})
		} else {
			j := c.coming[0].plainJob
			if j.doomed = c.hole > 0; j.doomed {
				j.run = min(j.run, 20)
			}
			c.coming, c.queue = c.coming[1:], append(c.queue, &j)
		}
		g.begin(c, now)
	}
}

// strike begins or ends the failures of a second; ends first.
func (g *plainGrid) strike(now int64) {
	for _, begins := range []bool{false, true} {
		for _, f := range g.s.Failures {
			at, by := int64(f.From.Seconds()), 1
			if !begins {
				at, by = at+int64(f.For.Seconds()), -1
			}
			for _, c := range g.sites {
				if at != now || f.Site != "" && f.Site != c.Name {
					continue
				}
				switch f.Kind {
				case BlackHole:
					c.hole += by
				case Credential:
					c.closed += by
				case SiteFails:
					if c.down += by; c.down == 1 && begins {
						lost := c.running
						c.running = nil
						for _, j := range lost {
							g.ended(c, j, now, false)
						}
					}
					g.begin(c, now)
				}
			}
		}
	}
}

// hand brings a job to its site.
func (g *plainGrid) hand(number int, now int64) {
	j := &g.jobs[number]
	to := g.sites[j.home]
	switch g.policy {
	case Oracle:
		to = g.best(j, now)
	case rank.FastestQueue, rank.Metacluster:
		to = g.choose(number, now)
	}
	switch {
	case to == nil && slices.ContainsFunc(g.sites, func(c *plainSite) bool { return c.Procs >= j.procs }):
		g.fail(number, now)
		return
	case to == nil || to.Procs < j.procs:
		g.result.Unplaced++
		return
	case to.down > 0 || to.closed > 0:
		g.fail(number, now)
		return
	}
	g.result.Messages++
	at := now + int64(g.s.Latency.Seconds())
	if g.s.Network.Bandwidth > 0 {
		at += int64(j.input / g.s.Network.Bandwidth)
	}
	for g.rng.Float64() < g.s.Network.Loss {
		at += 60
		g.result.Messages++
	}
	run, _ := j.at(to.Speed)
	to.coming = append(to.coming, plainArrival{at, plainJob{number: number, procs: j.procs, run: int64(run.Seconds())}})
	slices.SortStableFunc(to.coming, func(a, b plainArrival) int { return int(a.at - b.at) })
}

// choose is the site that a broker chooses by what sites have published: with nothing waiting the one with most
// free processors, else the fewest waiting jobs per processor; or the least loaded. Equal ones are drawn among.
func (g *plainGrid) choose(number int, now int64) (best *plainSite) {
	draws := rand.New(rand.NewPCG(g.seed<<32+uint64(number), 0x67726964))
	first, lot := math.Inf(-1), 0.0
	for _, c := range g.sites {
		if g.second(c, now); c.told < 0 || now >= c.told+int64(c.Refresh.Seconds()) {
			c.told, c.free0, c.waits0 = now, c.free(), len(c.queue)
			g.result.Messages++
		}
		if c.Procs < g.jobs[number].procs {
			continue
		}
		value := -float64(c.waits0) / float64(c.Procs)
		if g.policy == rank.Metacluster {
			value = -(float64(c.Procs-c.free0) + float64(c.waits0)) / float64(c.Procs)
		} else if c.waits0 == 0 {
			value = float64(c.free0)
		}
		if u := draws.Float64(); value > first || value == first && u > lot {
			best, first, lot = c, value, u
		}
	}
	return best
}

// best is the site where a job ends first if nothing else comes.
func (g *plainGrid) best(j *job, now int64) (best *plainSite) {
	first := int64(math.MaxInt64)
	for _, c := range g.sites {
		if c.Procs < j.procs || c.down > 0 || c.closed > 0 || c.hole > 0 {
			continue
		}
		run, _ := j.at(c.Speed)
		if end := c.foretell(j.procs, now) + int64(run.Seconds()); end < first {
			best, first = c, end
		}
	}
	return best
}

// foretell plays a site's queue on until so many processors are free behind it.
func (c *plainSite) foretell(procs int, now int64) int64 {
	free, running := c.free(), slices.Clone(c.running)
	var ends []plainJob
	for _, j := range running {
		ends = append(ends, plainJob{procs: j.procs, end: j.end})
	}
	for _, j := range append(slices.Clone(c.queue), &plainJob{procs: procs}) {
		for free < j.procs {
			slices.SortFunc(ends, func(a, b plainJob) int { return int(a.end - b.end) })
			now, free, ends = max(now, ends[0].end), free+ends[0].procs, ends[1:]
		}
		free -= j.procs
		ends = append(ends, plainJob{procs: j.procs, end: now + j.run})
	}
	return now
}

// over tells whether nothing is left to happen.
func (g *plainGrid) over(next int) bool {
	return next == len(g.jobs) && len(g.again) == 0 && !slices.ContainsFunc(g.sites, func(c *plainSite) bool {
		return len(c.local)+len(c.coming)+len(c.queue)+len(c.running) > 0
	})
}

// playPlainly plays a scenario second by second.
func playPlainly(t *testing.T, s *Scenario, policy string, seed uint64) *plainGrid {
	g := &plainGrid{s: s, jobs: drawn(t, s, seed), rng: rand.New(rand.NewPCG(seed, 23)), again: map[int64][]int{}, policy: policy, seed: seed}
	until := g.jobs[len(g.jobs)-1].submit
	for i := range s.Sites {
		g.sites = append(g.sites, &plainSite{Site: &s.Sites[i], local: localsOf(t, s, i, seed, until), told: -1})
	}
	next := 0
	for now := int64(0); !g.over(next); now++ {
		for _, c := range g.sites {
			g.second(c, now)
		}
		g.strike(now)
		for _, c := range g.sites { // who waited for a site that is back
			g.second(c, now)
		}
		for _, number := range g.again[now] {
			g.hand(number, now)
		}
		delete(g.again, now)
		for ; next < len(g.jobs) && g.jobs[next].submit == now; next++ {
			g.hand(next, now)
		}
		for _, c := range g.sites {
			g.second(c, now)
		}
	}
	return g
}

// TestGridOnceMore: what the simulator says of jobs that stay at home, of those that go where they
// end first, and of those that a broker sends by what sites have published, with losses, slow networks and failures of every kind, is what a player says that goes through every second.
func TestGridOnceMore(t *testing.T) {
	testbed.Computes(t)
	seeds := uint64(4)
	for seed := range seeds {
		for name, more := range map[string]string{
			"quiet":      "",
			"slow":       "[network]\nbandwidth = 2\nloss = 0.2\n",
			"black hole": "[[failure]]\nkind = \"blackhole\"\nsite = \"b\"\nfrom = \"1h\"\nfor = \"3h\"\n",
			"credential": "[[failure]]\nkind = \"credential\"\nfrom = \"1h\"\nfor = \"10m\"\n[[failure]]\nkind = \"credential\"\nsite = \"a\"\nfrom = \"2h\"\nfor = \"2h\"\n",
			"down":       "[[failure]]\nkind = \"site\"\nsite = \"a\"\nfrom = \"1h\"\nfor = \"2h\"\n[[failure]]\nkind = \"site\"\nsite = \"b\"\nfrom = \"90m\"\nfor = \"1h\"\n",
			"all": "[network]\nloss = 0.1\n[[failure]]\nkind = \"site\"\nfrom = \"2h\"\nfor = \"1h\"\n[[failure]]\nkind = \"blackhole\"\nsite = \"c\"\nfrom = \"1h\"\nfor = \"5h\"\n" +
				"[[failure]]\nkind = \"site\"\nsite = \"a\"\nfrom = \"150m\"\nfor = \"1h\"\n",
		} {
			s, err := Parse("once.toml", []byte(fmt.Sprintf(`
latency = "%ds"
[jobs]
count = 80
load = 0.4
max_procs = 8
max_run = "2h"
retries = %d
input_mb = 50
[[site]]
name = "a"
procs = 8
local_load = 0.4
scheduler = "fcfs"
[[site]]
name = "b"
procs = 12
refresh = "10m"
speed = 2
local_load = 0.3
scheduler = "fcfs"
[[site]]
name = "c"
procs = 16
refresh = "1h"
speed = 0.7
local_load = 0.4
scheduler = "fcfs"
`+more, []int{0, 7, 90, 600}[seed%4], seed%4)))
			if err != nil {
				t.Fatal(err)
			}
			policies := []string{Independent, Oracle}
			if len(s.Failures) == 0 { // else jobs are followed
				policies = append(policies, rank.FastestQueue, rank.Metacluster)
			}
			for _, policy := range policies {
				r, err := s.Play(context.Background(), policy, seed+1)
				if err != nil {
					t.Fatal(err)
				}
				g := playPlainly(t, s, policy, seed+1)
				slices.Sort(g.waits)
				mean := func(sum float64, n int) float64 { return sum / float64(max(1, n)) }
				wait := 0.0
				for _, w := range g.waits {
					wait += w
				}
				got := fmt.Sprintf("%d ran, %d failed, %d again, %d away, %d unplaced, %d messages; wait %.6g, completion %.6g, local %.6g", r.Jobs, r.Failed, r.Again, r.Away, r.Unplaced, r.Messages,
					r.MeanWait, r.Completion, r.LocalWait)
				want := fmt.Sprintf("%d ran, %d failed, %d again, %d away, %d unplaced, %d messages; wait %.6g, completion %.6g, local %.6g", g.result.Jobs, g.result.Failed, g.result.Again, g.result.Away, g.result.Unplaced,
					g.result.Messages, mean(wait, len(g.waits)), mean(g.completion, g.result.Jobs), g.local.mean())
				if got != want {
					t.Errorf("%s, %s, seed %d:\n%s, by the second\n%s", name, policy, seed+1, got, want)
				}
			}
		}
	}
}
