package rank_test

import (
	"math"
	"reflect"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

type fixed []float64

func (f *fixed) Float64() float64 {
	u := (*f)[0]
	*f = (*f)[1:]
	return u
}

// The published run: three A-REX, the first with a queue-length service that
// answered pbs and 0; the marks as printed; the first wins.
func TestPaperPublishedRun(t *testing.T) {
	site := func(id string) rank.Candidate {
		return rank.Candidate{Resource: &glue.Resource{ID: id, Waiting: glue.Some[int64](0)},
			Endpoint: glue.Endpoint{URL: "https://" + id + "/arex"}}
	}
	first := site("arex1:60000")
	first.Queue = &rank.QueueLength{Source: "echo", LRMS: "pbs", Lengths: []int64{0}, At: now}
	cs := []rank.Candidate{first, site("arex2:60001"), site("arex3:60003")}
	got := order(t, rank.Paper, &jdl.Job{}, cs, &fixed{0.8292, 0.4202, 0.44})
	want := []string{
		"Mark generated for https://arex1:60000/arex: 0.8292",
		"Mark generated for https://arex3:60003/arex: 0.44",
		"Mark generated for https://arex2:60001/arex: 0.4202",
	}
	if lines := rank.Marks(got); !reflect.DeepEqual(lines, want) {
		t.Errorf("marks %q, want %q", lines, want)
	}
}

// M is uniform on [0, 1/S): its mean is 1/2S, its largest value below 1/S,
// and the share of it below 1/4S is 1/4.
func TestPaperMarksDistribution(t *testing.T) {
	for _, c := range []struct {
		name string
		c    rank.Candidate
		s    float64
	}{
		{"service, two queues and the CE", rank.Candidate{Resource: &glue.Resource{ID: "a"},
			Queue: &rank.QueueLength{Lengths: []int64{3, 4}, CE: 2, At: now}}, 9},
		{"service, idle", rank.Candidate{Resource: &glue.Resource{ID: "a"},
			Queue: &rank.QueueLength{Lengths: []int64{0}, At: now}}, 1},
		{"no service, 7 published", rank.Candidate{Resource: &glue.Resource{ID: "a",
			Waiting: glue.Some[int64](5), PreLRMSWaiting: glue.Some[int64](2)}}, 8},
		{"a service that does not tell what the CE holds", rank.Candidate{Resource: &glue.Resource{ID: "a", PreLRMSWaiting: glue.Some[int64](500)},
			Queue: &rank.QueueLength{Lengths: []int64{0}, At: now}}, 500},
		{"no service, other queues of the batch system", rank.Candidate{Resource: &glue.Resource{ID: "a", Waiting: glue.Some[int64](0), Staging: glue.Some[int64](3)},
			LRMSWaiting: glue.Some[int64](1000)}, 1004},
		{"no service, nothing published", rank.Candidate{Resource: &glue.Resource{ID: "a"}}, 1},
	} {
		p, _ := rank.ParsePolicy(rank.Paper, rank.DefaultModel())
		f := p.NewField(&jdl.Job{}, now, []rank.Candidate{c.c}, rank.NewTally(), nil)
		const n = 40000
		rng, sum, largest, low := seeded(3), 0.0, 0.0, 0
		for range n {
			got, _ := f.Order(rng, 1)
			m := got[0].Score
			sum += m
			largest = max(largest, m)
			if m < 0.25/c.s {
				low++
			}
		}
		// Standard error of the mean of n draws is 1/(S√(12n)); five of them.
		if mean := sum / n; math.Abs(mean-0.5/c.s) > 5/(c.s*math.Sqrt(12*n)) {
			t.Errorf("%s: mean mark %v, want %v", c.name, mean, 0.5/c.s)
		}
		if largest >= 1/c.s || largest < 0.999/c.s {
			t.Errorf("%s: largest mark %v, want just below %v", c.name, largest, 1/c.s)
		}
		if share := float64(low) / n; math.Abs(share-0.25) > 5*math.Sqrt(0.25*0.75/n) {
			t.Errorf("%s: %v of the marks in the first quarter", c.name, share)
		}
	}
}

// A batch system has one draw, however many queues it has: a CE with queues of 0
// and 1000 jobs wins against one with a single waiting job as rarely as S says.
func TestPaperDrawsOncePerLRMS(t *testing.T) {
	share := func(id, ce, queue string, waiting, lrms int64) rank.Candidate {
		return rank.Candidate{Resource: &glue.Resource{ID: id, CE: ce, Queue: queue, Waiting: glue.Some(waiting)}, LRMSWaiting: glue.Some(lrms)}
	}
	p, _ := rank.ParsePolicy(rank.Paper, rank.DefaultModel())
	f := p.NewField(&jdl.Job{}, now, []rank.Candidate{share("a-long", "a", "long", 1000, 1000), share("a-short", "a", "short", 0, 1000), share("b", "b", "q", 1, 1)}, rank.NewTally(), nil)
	rng, wins := seeded(7), 0
	const n = 20000
	for range n {
		got, _ := f.Order(rng, 0)
		if got[0].Resource.CE == "a" {
			wins++
		}
		at := map[string]int{}
		for i, r := range got {
			at[r.Resource.ID] = i
		}
		if at["a-short"] > at["a-long"] {
			t.Fatalf("the longer queue of a stands before the shorter: %q", ids(got))
		}
	}
	// P(U_a/1001 > U_b/2) = 1/1001.
	if share := float64(wins) / n; share > 0.003 {
		t.Errorf("a wins %v of the draws, want about 0.001", share)
	}
	even := p.NewField(&jdl.Job{}, now, []rank.Candidate{share("a-1", "a", "x", 0, 0), share("a-2", "a", "y", 0, 0), share("a-3", "a", "z", 0, 0), share("b", "b", "q", 0, 0)}, rank.NewTally(), nil)
	wins = 0
	for range n {
		if got, _ := even.Order(rng, 1); got[0].Resource.CE == "a" {
			wins++
		}
	}
	if share := float64(wins) / n; math.Abs(share-0.5) > 0.02 {
		t.Errorf("a with three idle queues wins %v of the draws against b with one, want a half", share)
	}
}

// FuzzyRank draws the first with chances proportional to
// atan(f·(rank − mean)) + π/2.
func TestFuzzyRankChances(t *testing.T) {
	cs := idle(3)
	for i := range cs {
		cs[i].JDLRank = classad.IntValue(int64(i))
	}
	job := &jdl.Job{Rank: &classad.Literal{}, FuzzyRank: true, FuzzyFactor: 2}
	weights := []float64{math.Atan(-2) + math.Pi/2, math.Pi / 2, math.Atan(2) + math.Pi/2}
	sum := weights[0] + weights[1] + weights[2]
	p, _ := rank.ParsePolicy(rank.JDL, rank.DefaultModel())
	f := p.NewField(job, now, cs, rank.NewTally(), nil)
	const n = 40000
	rng, first := seeded(5), make([]float64, 3)
	for range n {
		got, _ := f.Order(rng, 1)
		first[index(got[0])]++
	}
	for i, w := range weights {
		want := w / sum
		if got := first[i] / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("candidate %d first in %v of the draws, want %v", i, got, want)
		}
	}
}

func TestJDLRankDecides(t *testing.T) {
	cs := idle(3)
	cs[0].JDLRank, cs[1].JDLRank, cs[2].JDLRank = classad.IntValue(1), classad.UndefinedValue(), classad.RealValue(2.5)
	p, _ := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
	got, dropped := p.NewField(&jdl.Job{Rank: &classad.Literal{}}, now, cs, rank.NewTally(), nil).Order(seeded(1), 0)
	if ids(got) != "ce02 ce00 ce01" || len(dropped) != 0 || got[2].Unranked != "undefined" || got[0].Unranked != "" {
		t.Errorf("order %q, dropped %v", ids(got), dropped)
	}
	got, dropped = p.NewField(&jdl.Job{}, now, cs, rank.NewTally(), nil).Order(seeded(1), 0)
	if len(got) != 3 || len(dropped) != 0 {
		t.Errorf("without a Rank in the job: %q, dropped %v", ids(got), dropped)
	}
}
