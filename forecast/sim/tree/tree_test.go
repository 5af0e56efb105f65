package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// workB is the published workload B for a number of systems.
func workB(systems int, horizon float64) Work {
	return Work{
		Jobs: int(float64(systems) * horizon * 0.0829), Horizon: horizon, Nodes: PerSystem{10}, Share: []float64{1},
		Width: "uniform:10", Run: "exp", Load: 1.505, Prios: 1, Systems: systems,
	}
}

func paper(fanout int) Config {
	return Config{Mode: "tree", Fanout: fanout, Discipline: "firstfit", Latency: 100, Handshake: true, Mark: "ack"}
}

func runB(t *testing.T, c Config, w Work, seed uint64) *Result {
	t.Helper()
	jobs, err := w.Draw(seed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), c, w.NodesOf(), jobs, w.Horizon, seed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Our protocol does as much, within 0.01, with a ninth of the messages.
func TestFewerMessages(t *testing.T) {
	testbed.Computes(t)
	w := workB(256, 500)
	ours := Ours(paper(8))
	ours.MaxAge = 0
	theirs, mine := runB(t, paper(8), w, 1), runB(t, ours, w, 1)
	messages := mine.ChangesPerJob + mine.RequestsPerJob
	t.Logf("ratio %.4f, theirs %.4f; messages per job %.1f, theirs %.1f", mine.Ratio, theirs.Ratio, messages, theirs.ChangesPerJob+theirs.RequestsPerJob)
	if messages >= 10 || mine.Ratio < theirs.Ratio-0.01 {
		t.Errorf("ratio %.4f (theirs %.4f) with %.1f messages per job: want under 10 and no loss", mine.Ratio, theirs.Ratio, messages)
	}
	for cost, loss := range map[int64]float64{50: 0.01, 200: 0.02} {
		star, dear := paper(256), ours
		star.Service, dear.Service = cost, cost
		sunk, held := runB(t, star, w, 1), runB(t, dear, w, 1)
		t.Logf("%d ticks a message: ratio %.4f, star %.4f", cost, held.Ratio, sunk.Ratio)
		if held.Ratio < mine.Ratio-loss || sunk.Ratio > 0.62 {
			t.Errorf("%d ticks a message: ratio %.4f, star %.4f", cost, held.Ratio, sunk.Ratio)
		}
	}
}

// Where messages are dear, domains of four and a unit between two changes lose
// nothing to speak of at a cost at which the star has sunk. More seeds: GRID_LONG.
func TestDearMessages(t *testing.T) {
	testbed.Computes(t)
	seeds := 2
	if os.Getenv("GRID_LONG") != "" {
		seeds = 10
	}
	w := workB(256, 500)
	free := Ours(paper(4))
	free.Coalesce = TicksPerUnit
	dear, star := free, paper(256)
	dear.Service, star.Service = 200, 200
	var ratio, costly, sunk, messages float64
	for seed := range uint64(seeds) {
		a, b, c := runB(t, free, w, seed+1), runB(t, dear, w, seed+1), runB(t, star, w, seed+1)
		n := float64(seeds)
		ratio, costly, sunk, messages = ratio+a.Ratio/n, costly+b.Ratio/n, sunk+c.Ratio/n, messages+(a.ChangesPerJob+a.RequestsPerJob)/n
	}
	t.Logf("ratio %.4f, at 0.2 units a message %.4f (star %.4f); %.1f messages per job", ratio, costly, sunk, messages)
	if costly < ratio-0.01 || sunk > 0.6 || messages >= 10 {
		t.Errorf("ratio %.4f, at 0.2 units a message %.4f (star %.4f), %.1f messages per job: want a loss of at most 0.01 and fewer than 10", ratio, costly, sunk, messages)
	}
}

// Drained: every job that fits some system runs, once, whatever the protocol.
func TestEveryJobRuns(t *testing.T) {
	for name, c := range map[string]Config{"paper": paper(2), "ours": Ours(paper(2)), "bound": {
		Mode: "tree", Fanout: 2, Discipline: "firstfit", Latency: 100, Handshake: true, Mark: "none", MaxHops: 6, PlaceBound: true}} {
		w := workB(8, 400)
		jobs, _ := w.Draw(5)
		r, err := Run(t.Context(), c, w.NodesOf(), jobs, 4000, 5)
		if err != nil {
			t.Fatal(err)
		}
		if r.Done != len(jobs) {
			t.Errorf("%s: %d of %d jobs ran", name, r.Done, len(jobs))
		}
		if c.MaxHops > 0 && r.MaxHops > c.MaxHops+6 {
			t.Errorf("%s: a job went %d hops", name, r.MaxHops)
		}
		checkNodes(t, name, w.NodesOf(), jobs, r.Starts)
	}
}

// checkNodes finds instants at which a system has more nodes in use than it has.
func checkNodes(t *testing.T, name string, nodes []int, jobs []Job, starts []Start) {
	t.Helper()
	for i, s := range starts {
		used := 0
		for k, o := range starts {
			if o.System == s.System && o.At <= s.At && s.At < o.At+jobs[k].Run {
				used += jobs[k].Width
			}
		}
		if s.System >= 0 && used > nodes[s.System] {
			t.Fatalf("%s: job %d: system %d has %d nodes, %d in use", name, i, s.System, nodes[s.System], used)
		}
	}
}

// Any domain manager fails at many instants of a short run: with healing and
// brokers that hand in again no job is lost and none runs twice.
func TestFailuresLoseNothing(t *testing.T) {
	w := workB(8, 100)
	jobs, _ := w.Draw(2)
	for who := 8; who < 15; who++ {
		for at := int64(1); at < 100_000; at += 7_111 {
			c := paper(2)
			if at%2 == 0 {
				c = Ours(c)
			}
			c.FailAt, c.FailWho, c.Detect, c.Heal, c.Resubmit = at, who, 500, true, true
			r, err := Run(t.Context(), c, w.NodesOf(), jobs, 3000, 1)
			if err != nil {
				t.Fatal(err)
			}
			if r.Done != len(jobs) {
				t.Errorf("manager %d fails at %d: %d of %d jobs ran, %d resubmitted", who, at, r.Done, len(jobs), r.Resubmitted)
			}
			checkNodes(t, fmt.Sprint(who, at), w.NodesOf(), jobs, r.Starts)
		}
	}
}

// At rest every row is what is free beyond the link.
func TestTablesAtRest(t *testing.T) {
	for _, c := range []Config{paper(2), paper(3), paper(8), Ours(paper(2)), Ours(paper(3))} {
		w := workB(8, 200)
		jobs, _ := w.Draw(3)
		s := &sim{config: &c, horizon: 1 << 60, jobs: jobs, epochs: map[[2]int]int{}}
		s.build(w.NodesOf())
		if err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Jobs run for ever from here on: the last messages come to rest with systems part full.
		for i := range jobs {
			if jobs[i].Submit > 150_000 {
				jobs[i].Run = 1 << 50
			}
		}
		for e, ok := s.cal.next(); ok && e.at < 1<<49; e, ok = s.cal.next() {
			s.now = e.at
			s.step(e)
		}
		for i, n := range s.nodes {
			for k, peer := range n.peers {
				if c.Pool && i < w.Systems {
					continue // systems that hand their jobs over are told nothing
				}
				got, want := n.manager.Row(n.links[peer]), s.nodes[peer].manager.Describe(s.nodes[peer].links[i])
				if !got.Equal(want) {
					t.Errorf("pool %v: manager %d, row %d: %v, want %v", c.Pool, i, k, got, want)
				}
			}
		}
	}
}

// A wide job among many narrow ones: without the rule of age it waits for ever.
func TestAgedJobRuns(t *testing.T) {
	testbed.Computes(t)
	var jobs []Job
	for i := range 4000 {
		jobs = append(jobs, Job{ID: i + 1, Home: i % 4, Submit: int64(i) * 250, Run: 9000, Width: 1 + i%3})
	}
	jobs[40].Width = 10
	c := Ours(paper(4))
	c.MaxAge = 0
	without, err := Run(t.Context(), c, []int{10, 10, 10, 10}, jobs, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.MaxAge = 50_000
	with, _ := Run(t.Context(), c, []int{10, 10, 10, 10}, jobs, 1000, 1)
	if without.Starts[40].System >= 0 {
		t.Errorf("the wide job starts at %d without the rule: the scene shows nothing", without.Starts[40].At)
	}
	if s := with.Starts[40]; s.System < 0 || s.At > jobs[40].Submit+120_000 {
		t.Errorf("the wide job starts at %v, want soon after it is old", s)
	}
}

func TestSameSeedSameResult(t *testing.T) {
	c := Ours(paper(4))
	c.Loss = 0.1
	a, b := runB(t, c, workB(16, 200), 4), runB(t, c, workB(16, 200), 4)
	if fmt.Sprint(*a) != fmt.Sprint(*b) {
		t.Error("two runs of one seed differ")
	}
}

// A simulation that is called off ends with the caller's reason, in every structure.
func TestRunEndsWithItsContext(t *testing.T) {
	w := workB(16, 500)
	jobs, _ := w.Draw(1)
	for _, mode := range []string{"independent", "tree", "dispatch", "full"} {
		c := paper(4)
		c.Mode = mode
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		for ctx.Err() == nil {
			if _, err := Run(ctx, c, w.NodesOf(), jobs, w.Horizon, 1); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", mode, err)
			}
		}
		if _, err := Run(ctx, c, w.NodesOf(), jobs, w.Horizon, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, called off before it began: %v", mode, err)
		}
	}
}
