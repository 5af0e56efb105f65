package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
	"gridbroker/testdata/testbed"
)

var now = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func order(t *testing.T, name string, job *jdl.Job, cs []rank.Candidate, draws rank.Source) []rank.Ranked {
	t.Helper()
	p, err := rank.ParsePolicy(name, rank.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	got, _ := p.NewField(job, now, cs, rank.NewTally(), nil).Order(draws, 0)
	return got
}

func ids(rs []rank.Ranked) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Resource.ID)
	}
	return strings.Join(out, " ")
}

// odd returns numbers that providers publish and should not, too.
func odd(r *rand.Rand) float64 {
	choices := []float64{0, 1, -1, 7, 100, 3600, 1e9, 4e18, -4e18, r.Float64() * 1e5}
	return choices[r.IntN(len(choices))]
}

func maybe[T any](r *rand.Rand, v T) glue.Opt[T] {
	return glue.Opt[T]{V: v, OK: r.IntN(3) > 0}
}

func randomCandidate(r *rand.Rand, i int) rank.Candidate {
	res := &glue.Resource{
		ID: fmt.Sprintf("ce%02d", i), Source: "bdii",
		Waiting: maybe(r, int64(odd(r))), FreeSlots: maybe(r, int64(odd(r))), TotalSlots: maybe(r, int64(odd(r))),
		PreLRMSWaiting: maybe(r, int64(odd(r))), CPUClock: maybe(r, int64(odd(r))),
		MaxWallTime:   maybe(r, time.Duration(r.IntN(100))*time.Hour),
		EstimatedWait: maybe(r, time.Duration(odd(r))), StateIsPlaceholder: r.IntN(5) == 0,
		Benchmarks: map[string]float64{"hep-spec06": odd(r)},
	}
	c := rank.Candidate{Resource: res, Age: time.Duration(odd(r)), JDLRank: classad.RealValue(math.Round(odd(r)))}
	if r.IntN(2) == 0 {
		c.Forecasts = []rank.Forecast{{Source: "f", Made: now.Add(-time.Duration(r.IntN(9)) * time.Minute),
			Low: time.Duration(odd(r)), Median: time.Duration(odd(r)), High: time.Duration(odd(r)),
			PastError: maybe(r, time.Duration(odd(r)))}}
	}
	if r.IntN(2) == 0 {
		c.Queue = &rank.QueueLength{Source: "q", Lengths: []int64{int64(odd(r)), int64(odd(r))}, CE: int64(odd(r)), At: now}
	}
	if r.IntN(2) == 0 {
		c.History = &rank.History{RunTime: maybe(r, time.Duration(odd(r))), Success: maybe(r, odd(r)),
			WaitCorrection: maybe(r, odd(r)), Jobs: r.IntN(20), Overhead: maybe(r, time.Duration(odd(r)))}
	}
	if r.IntN(4) == 0 {
		c.Limit = rank.Limit{On: true, Jobs: r.IntN(2), Wait: true}
	}
	if r.IntN(4) == 0 {
		c.Trouble = "loaded"
	}
	return c
}

// wild puts numbers that are none into every float of a candidate.
func wild(r *rand.Rand, c *rank.Candidate) {
	none := func() float64 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1, -1, math.MaxFloat64}[r.IntN(6)]
	}
	c.Resource.Benchmarks = map[string]float64{"hep-spec06": none(), "specint2000": none()}
	c.History = &rank.History{RunTime: glue.Some(time.Duration(math.MinInt64)), Success: glue.Some(none()), WaitCorrection: glue.Some(none()), Jobs: 3,
		Overhead: glue.Some(time.Duration(math.MaxInt64))}
}

func randomCandidates(r *rand.Rand, n int) []rank.Candidate {
	cs := make([]rank.Candidate, n)
	for i := range cs {
		cs[i] = randomCandidate(r, i)
	}
	return cs
}

// every policy, with and without a Rank in the job.
func eachPolicy(t *testing.T, f func(t *testing.T, name string, job *jdl.Job)) {
	names := []string{rank.Hybrid, rank.Paper, rank.JDL, rank.FastestQueue, rank.ARCFastest, rank.ForecastOnly, rank.Data, rank.Random,
		"formula:-completion + orElse(free, 0)"}
	for _, name := range names {
		for _, job := range []*jdl.Job{{}, {Rank: &classad.Literal{}}, {Rank: &classad.Literal{}, FuzzyRank: true, FuzzyFactor: 1}} {
			t.Run(fmt.Sprintf("%s/rank=%v/fuzzy=%v", name, job.Rank != nil, job.FuzzyRank), func(t *testing.T) { f(t, name, job) })
		}
	}
}

func TestPermutationChangesNothing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, name string, job *jdl.Job) {
		for seed := range uint64(40) {
			r := seeded(seed)
			cs := randomCandidates(r, 1+r.IntN(12))
			want := ids(order(t, name, job, cs, seeded(seed)))
			r.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
			if got := ids(order(t, name, job, cs, seeded(seed))); got != want {
				t.Fatalf("seed %d: shuffled gives %s, want %s", seed, got, want)
			}
		}
	})
}

func TestNothingInfiniteEscapes(t *testing.T) {
	eachPolicy(t, func(t *testing.T, name string, job *jdl.Job) {
		for seed := range uint64(200) {
			rng := seeded(seed)
			cs := randomCandidates(rng, 6)
			wild(rng, &cs[2])
			got := order(t, name, job, cs, seeded(seed))
			if len(got) != len(cs) {
				t.Fatalf("seed %d: %d of %d ranked", seed, len(got), len(cs))
			}
			for _, r := range got {
				numbers := []float64{r.Score, r.Uncertainty}
				for _, term := range r.Terms {
					numbers = append(numbers, term.Raw, term.Seconds, term.Uncertainty, term.Weight)
				}
				for _, x := range numbers {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("seed %d: %s: %v in %+v", seed, r.Resource.ID, x, r)
					}
				}
			}
		}
	})
}

func idle(n int) []rank.Candidate {
	cs := make([]rank.Candidate, n)
	for i := range cs {
		cs[i] = rank.Candidate{JDLRank: classad.IntValue(7), Resource: &glue.Resource{ID: fmt.Sprintf("ce%02d", i),
			Waiting: glue.Some[int64](0), FreeSlots: glue.Some[int64](10), TotalSlots: glue.Some[int64](10)}}
	}
	return cs
}

// Each of n equal candidates is first in 1/n of the draws: chi-squared with 9
// degrees of freedom is below 33.7 but once in 10,000.
func TestTiesAreUniform(t *testing.T) {
	testbed.Computes(t)
	for _, name := range []string{rank.Hybrid, rank.Paper, rank.JDL, rank.FastestQueue, rank.ARCFastest, rank.ForecastOnly, rank.Data, rank.Random,
		"formula:free - wait"} {
		t.Run(name, func(t *testing.T) {
			const n, draws = 10, 20000
			first, last := make([]int, n), make([]int, n)
			rng := seeded(42)
			p, _ := rank.ParsePolicy(name, rank.DefaultModel())
			f := p.NewField(&jdl.Job{}, now, idle(n), rank.NewTally(), nil)
			for range draws {
				got, _ := f.Order(rng, 0)
				first[index(got[0])]++
				last[index(got[n-1])]++
			}
			if x := chi2(first); x > 33.7 {
				t.Errorf("first places %v: chi2 %.1f", first, x)
			}
			if x := chi2(last); x > 33.7 {
				t.Errorf("last places %v: chi2 %.1f", last, x)
			}
		})
	}
}

func index(r rank.Ranked) int {
	var i int
	fmt.Sscanf(r.Resource.ID, "ce%d", &i)
	return i
}

func chi2(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	want, x := float64(total)/float64(len(counts)), 0.0
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// The few best taken in one pass are those of the whole order.
func TestShortOrderIsTheHeadOfTheWhole(t *testing.T) {
	for seed := range uint64(50) {
		cs := randomCandidates(seeded(seed), 100)
		p, _ := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
		f := p.NewField(&jdl.Job{}, now, cs, rank.NewTally(), nil)
		whole, _ := f.Order(seeded(seed), 0)
		short, _ := f.Order(seeded(seed), 7)
		if got, want := ids(short), ids(whole[:7]); got != want {
			t.Fatalf("seed %d: %s, want %s", seed, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	const sites, jobs = 10, 1000
	for _, name := range []string{rank.Hybrid, rank.JDL, rank.FastestQueue, rank.Random, rank.Paper} {
		p, _ := rank.ParsePolicy(name, rank.DefaultModel())
		tally := rank.NewTally()
		f := p.NewField(&jdl.Job{}, now, idle(sites), tally, nil)
		rng, counts := seeded(7), make([]int, sites)
		for range jobs {
			got, _ := f.Order(rng, 1)
			tally.Place(got[0].Resource, 1)
			counts[index(got[0])]++
		}
		// Binomial(1000, 1/10): mean 100, σ 9.5; five σ.
		for i, c := range counts {
			if c < 52 || c > 148 {
				t.Errorf("%s: site %d got %d of %d jobs: %v", name, i, c, jobs, counts)
			}
		}
	}
}

// Views of one queue share its slots: what is placed through one is counted
// for the other.
func TestViewsShareSlots(t *testing.T) {
	view := func(vo string, free int64) rank.Candidate {
		return rank.Candidate{Resource: &glue.Resource{ID: "ce/q/" + vo, CE: "ce", Queue: "q", ViewOf: vo,
			FreeSlots: glue.Some(free), Waiting: glue.Some[int64](0), TotalSlots: glue.Some[int64](4)}}
	}
	other := rank.Candidate{Resource: &glue.Resource{ID: "other", CE: "other", Queue: "q",
		FreeSlots: glue.Some[int64](1), Waiting: glue.Some[int64](0), TotalSlots: glue.Some[int64](4)}}
	model := rank.DefaultModel()
	model.Near = 0
	p := rank.Policy{Name: rank.Hybrid, Model: model}
	tally := rank.NewTally()
	a := view("a", 1)
	f := p.NewField(&jdl.Job{}, now, []rank.Candidate{a, view("b", 1), other}, tally, nil)
	tally.Place(a.Resource, 1)
	got, _ := f.Order(seeded(1), 0)
	if got[0].Resource.ID != "other" {
		t.Errorf("order %s: the queue's one slot was counted once per view", ids(got))
	}
}

func TestFastestQueue(t *testing.T) {
	cs := idle(4)
	cs[0].Resource.FreeSlots.V = 3
	cs[1].Resource.Waiting.V, cs[2].Resource.Waiting.V = 5, 2
	for policy, want := range map[string]string{rank.FastestQueue: "ce03 ce00 ce02 ce01", rank.ARCFastest: "ce00 ce03 ce02 ce01"} {
		if got := ids(order(t, policy, &jdl.Job{}, cs, seeded(1))); got != want {
			t.Errorf("%s: %s, want %s", policy, got, want)
		}
	}
}

// A resource on trial after a ban gets no more jobs than it may have.
func TestTrial(t *testing.T) {
	cs := idle(2)
	cs[0].History = &rank.History{AtMost: 1, Success: glue.Some(1.0), Jobs: 100}
	p, _ := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
	tally := rank.NewTally()
	f := p.NewField(&jdl.Job{}, now, cs, tally, nil)
	counts := make([]int, 2)
	for range 50 {
		got, _ := f.Order(seeded(1), 1)
		tally.Place(got[0].Resource, 1)
		counts[index(got[0])]++
	}
	if counts[0] != 1 || counts[1] != 49 {
		t.Errorf("%v of 50 jobs; the first may have one", counts)
	}
}

func TestOldDataWeighsLess(t *testing.T) {
	full := rank.Candidate{Resource: &glue.Resource{ID: "full", FreeSlots: glue.Some[int64](0),
		Waiting: glue.Some[int64](100), TotalSlots: glue.Some[int64](10)}}
	wait := func(age time.Duration) float64 {
		c := full
		c.Age = age
		got := order(t, rank.ForecastOnly, &jdl.Job{}, []rank.Candidate{c}, seeded(1))
		return -got[0].Score
	}
	fresh, old, ancient := wait(0), wait(4*time.Hour), wait(1000*time.Hour)
	if !(fresh > old && old > ancient && math.Abs(ancient-3600) < 10) {
		t.Errorf("waits %v, %v, %v: should fall towards the prior of an hour", fresh, old, ancient)
	}
}

func TestFormulaErrors(t *testing.T) {
	for code, want := range map[string]string{
		"wait +":          "unexpected token EOF",
		"nosuch * 2":      "unknown name nosuch",
		"site":            "expected float64",
		"known(1) ? 1 : ": "unexpected token EOF",
	} {
		_, err := rank.CompileFormula(code)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", code, err, want)
		}
	}
	if _, err := rank.ParsePolicy("fastest", rank.DefaultModel()); err == nil || !strings.Contains(err.Error(), "fastest-queue") {
		t.Errorf("unknown policy: %v", err)
	}
	cs := idle(2)
	p, _ := rank.ParsePolicy("formula:queue", rank.DefaultModel())
	got, dropped := p.NewField(&jdl.Job{}, now, cs, rank.NewTally(), nil).Order(seeded(1), 0)
	if len(got) != 0 || len(dropped) != 2 || dropped[0].Why != "the formula gives no number" {
		t.Errorf("formula of an unpublished number: %v %v", got, dropped)
	}
}
