package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gridbroker/batch/swf"
	"gridbroker/testdata/testbed"
)

// given are jobs as a stream.
type given []job

func (g *given) next() (job, error) {
	if len(*g) == 0 {
		return job{}, io.EOF
	}
	j := (*g)[0]
	*g = (*g)[1:]
	return j, nil
}

// drained are all jobs of a stream.
func drained(t *testing.T, s stream, err error) (list []job) {
	t.Helper()
	for err == nil {
		var j job
		if j, err = s.next(); err == nil {
			list = append(list, j)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return list
}

// drawn are the global jobs of a seed.
func drawn(t *testing.T, s *Scenario, seed uint64) []job {
	t.Helper()
	w, err := s.draw(seed)
	list := drained(t, w, err)
	if w.count != len(list) || w.first != list[0].submit || w.last != list[len(list)-1].submit {
		t.Errorf("%d jobs from %d to %d, said to be %d from %d to %d", len(list), list[0].submit, list[len(list)-1].submit, w.count, w.first, w.last)
	}
	return list
}

// localsOf are the local jobs of a site in a run of a seed.
func localsOf(t *testing.T, s *Scenario, i int, seed uint64, until int64) []job {
	t.Helper()
	list, err := s.locals(i, seed*1_000_003+uint64(i)+1, until)
	return drained(t, list, err)
}

// modelled are n jobs of the model, all at once.
func modelled(procs, n int, maxRun int64, seed uint64) (list []job) {
	m := swf.Lublin{Procs: procs, Seed: seed}
	for range n {
		j := m.Next()
		if maxRun > 0 {
			j.Run, j.Limit = min(j.Run, maxRun), min(j.Limit, maxRun)
		}
		list = append(list, job{submit: j.Submit, run: max(1, j.Run), limit: max(60, j.Limit), procs: j.Procs})
	}
	return list
}

// spread sets gaps such that the jobs ask for so many processors on average, all at once.
func spread(list []job, procs float64) {
	area := 0.0
	for _, j := range list {
		area += float64(j.run) * float64(j.procs)
	}
	first, span := list[0].submit, float64(max(1, list[len(list)-1].submit-list[0].submit))
	for i := range list {
		list[i].submit = int64(min(float64(list[i].submit-first)/span*area/procs, math.MaxInt64/4))
	}
}

// Jobs that are drawn one by one are those that are drawn all at once: of the model with users, shaken ones of a trace in their order,
// local ones until the last global one comes.
func TestDrawnOneByOne(t *testing.T) {
	lines, at := "", int64(0)
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range int64(400) {
		at += chance.Int64N(90)
		lines += swfLine(i+1, at, 1+chance.Int64N(5000), 1+chance.Int64N(4), 6000, i%9)
	}
	traced, err := withTrace(t, lines)
	if err != nil {
		t.Fatal(err)
	}
	traced.Jobs.InputMB, traced.Jobs.Count = 3, 300
	model := parsed(t, "[jobs]\ncount = 700\nload = 0.4\nmax_run = \"3h\"\nusers = 7\ninput_mb = 2\n[[site]]\nname = \"a\"\nprocs = 16\nlocal_load = 0.5\n[[site]]\nname = \"b\"\nprocs = 32\nhome = 3.0\nlocal_load = 0.2\n")
	for seed := range uint64(4) {
		for name, s := range map[string]*Scenario{"trace": traced, "model": model} {
			rng := rand.New(rand.NewPCG(seed, 17))
			var want []job
			if name == "trace" {
				want = drained(t, s.traces[traceKey(s.Jobs.Trace, 8)].replay(), nil)[:300]
				for i := range want {
					want[i].submit = max(0, want[i].submit+rng.Int64N(121)-60)
				}
				slices.SortStableFunc(want, func(a, b job) int { return cmp.Compare(a.submit, b.submit) })
			} else {
				want = modelled(16, 700, 3*3600, seed)
				for i := range want {
					want[i].user = int(7 * math.Pow(rng.Float64(), 2))
				}
			}
			there, weights := capacity(s.Sites)
			if s.Jobs.Load > 0 {
				spread(want, there*s.Jobs.Load)
			}
			for i := range want {
				want[i].home = draw(rng, weights)
				want[i].limit = max(60, int64(float64(want[i].limit)*s.Jobs.Estimate))
				want[i].input = rng.ExpFloat64() * s.Jobs.InputMB
			}
			got := drawn(t, s, seed)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, seed %d: one by one they are others", name, seed)
			}
			if name == "model" {
				until := got[len(got)-1].submit
				own := modelled(16, 1<<12, 3*3600, seed*1_000_003+1)
				for n := 256; ; n *= 2 {
					list := slices.Clone(own[:n])
					if spread(list, 16*0.5); list[n-1].submit >= until {
						own = slices.DeleteFunc(list, func(j job) bool { return j.submit > until })
						break
					}
				}
				if got := localsOf(t, s, 0, seed, until); !reflect.DeepEqual(got, own) {
					t.Fatalf("seed %d: %d local jobs, want %d, or others", seed, len(got), len(own))
				}
			}
		}
	}
}

// What is said of many numbers is what is said of them in order.
func TestDistribution(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 100, mostFresh, 3*mostFresh + 17} {
		var d distribution
		var plain []float64
		for i := range n {
			x := math.Floor(chance.ExpFloat64() * 1000)
			d.add(x)
			plain = append(plain, x)
			if i == n/2 {
				d.at(i / 2)
			}
		}
		slices.Sort(plain)
		for place, x := range plain {
			if got := d.at(place); got != x {
				t.Fatalf("%d of %d: %g, want %g", place, n, got, x)
			}
		}
	}
}

// A run keeps what is under way, whatever its policy and its failures: behind its end it has nothing left of its jobs, but for the last
// day's where a scheduler may still ask.
func TestRunsKeepNoJobs(t *testing.T) {
	testbed.Computes(t)
	for _, policy := range []string{"random", "hybrid", Replan, GrAS, GrASPaper, Stored, Tree, Independent, Oracle} {
		for _, failing := range []bool{false, true} {
			text := "latency = \"10s\"\n[jobs]\ncount = 60\nload = 0.5\nmax_procs = 16\nretries = 1\n"
			text += "[[site]]\nname = \"a\"\nprocs = 8\nlocal_load = 0.3\n[[site]]\nname = \"b\"\nprocs = 16\nlocal_load = 0.3\n"
			if failing {
				text += "[[failure]]\nkind = \"blackhole\"\nsite = \"a\"\nfrom = \"0s\"\nfor = \"20h\"\n[[failure]]\nkind = \"site\"\nsite = \"b\"\nfrom = \"1h\"\nfor = \"2h\"\n"
			}
			s := parsed(t, text)
			g, err := s.grid(policy, 1)
			if err == nil {
				g.dispatch, err = g.newDispatcher(t.Context())
			}
			if err == nil {
				err = g.play(t.Context())
			}
			if err != nil {
				t.Fatalf("%s: %v", policy, err)
			}
			late := 0
			if c, ok := g.dispatch.(*stored); ok {
				late = len(c.past)
				c.close()
			}
			if got := g.run.Jobs + g.run.Failed + g.run.Unplaced; got != 60 || len(g.under) > late {
				t.Errorf("%s, failures %v: %d jobs came to an end, and %d are kept", policy, failing, got, len(g.under))
			}
			for _, c := range g.sites {
				if len(c.ownWait) > 0 || len(c.coming) > 0 || c.own.submit != never {
					t.Errorf("%s, failures %v: site %s keeps %d local jobs", policy, failing, c.Name, len(c.ownWait))
				}
			}
		}
	}
}

// Jobs that stay at home are not on their way until the end of the run, where nobody looks at their sites meanwhile.
func TestSitesThatNobodyLooksAt(t *testing.T) {
	s := parsed(t, "[jobs]\ncount = 500\nload = 0.3\n[[site]]\nname = \"a\"\nprocs = 16\nlocal_load = 0.3\n")
	g, err := s.grid(Independent, 1)
	if err == nil {
		g.dispatch, err = g.newDispatcher(t.Context())
	}
	for g.next < g.jobs.count-1 && err == nil {
		g.now = g.coming.submit
		err = g.arrive(t.Context())
		if n := len(g.sites[0].coming); n > mostComing {
			t.Fatalf("%d jobs are on their way", n)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A trace is played as it was when the scenario was read, whatever became of its file; a file for its jobs that cannot be read ends the run.
func TestTraceThatIsGone(t *testing.T) {
	s, err := withTrace(t, swfLine(1, 0, 100, 2, 200, 3)+swfLine(2, 10, 100, 4, 200, 4))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Play(t.Context(), "random", 1); err != nil || r.Jobs != 2 {
		t.Fatal(r, err)
	}
	for _, tr := range s.traces {
		tr.file.(io.Closer).Close()
	}
	if r, err := s.Play(t.Context(), "random", 1); err == nil {
		t.Error("played without its jobs:", fmt.Sprint(r.Jobs))
	}
}
