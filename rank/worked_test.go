package rank_test

import (
	"math"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// worked is an example of the hybrid score worked out by hand from docs/ranking.md, section 4.
type worked struct {
	name  string
	job   jdl.Job
	c     rank.Candidate
	total float64            // expected completion, seconds
	sigma float64            // one standard deviation of it, seconds
	terms map[string]float64 // the seconds of terms; NaN: there is no such term
}

// none says that a score has not a term.
var none = math.NaN()

// A wait of which only the prior is known is 3600 s ± 14400 s. sure is a forecast so exact that it is the whole wait.
func sure(wait time.Duration) []rank.Forecast {
	return []rank.Forecast{{Source: "f", Made: now, Median: wait, PastError: glue.Some(time.Duration(0))}}
}

// resource publishes nothing but what is set.
func resource(set func(*glue.Resource)) *glue.Resource {
	r := &glue.Resource{ID: "ce", CE: "ce.example.org", Source: "bdii"}
	if set != nil {
		set(r)
	}
	return r
}

func asks(wall time.Duration) jdl.Job { return jdl.Job{Demand: jdl.Demand{WallTime: wall}} }

// data is a job that reads two remote files, one of them on a storage element by the name of near.example.org.
var data = jdl.Job{Demand: jdl.Demand{WallTime: time.Hour},
	InputSandbox: []jdl.InputFile{{Source: "https://near.example.org/a", Name: "a"}, {Source: "https://far.example.org/b", Name: "b"}}}

var workedExamples = []worked{
	{"the example of the docs", jdl.Job{Demand: jdl.Demand{WallTime: 2 * time.Hour, Slots: 4}},
		rank.Candidate{Age: time.Minute, Resource: resource(func(r *glue.Resource) {
			r.Waiting, r.FreeSlots, r.TotalSlots = glue.Some[int64](300), glue.Some[int64](0), glue.Some[int64](100)
			r.Benchmarks = map[string]float64{"hep-spec06": 12}
		})},
		// σ²: 1260², 14400²; the run is off by 0.3 of 6000 s: (1255² + 1800²)^½ / 0.95
		17777, 2310, map[string]float64{rank.TermRun: 6000, rank.TermSuccess: 889, rank.TermLimit: none}},
	{"nothing is known", jdl.Job{}, rank.Candidate{Resource: resource(nil)},
		// (3600 + 3600) / 0.95; (14400² + 1080²)^½ / 0.95
		7579, 15200, map[string]float64{rank.TermPrior: 3600, rank.TermRun: 3600, rank.TermSuccess: 379, rank.TermStageIn: 0, rank.TermEnvironment: none, rank.TermOverhead: none}},
	{"20 own jobs of which half went well", asks(time.Hour), rank.Candidate{Resource: resource(nil),
		History: &rank.History{Success: glue.Some(0.5), Jobs: 20}},
		// success (10 + 4.75) / 25 = 0.59
		12203, 24475, map[string]float64{rank.TermSuccess: 5003}},
	{"monitoring warns", asks(time.Hour), rank.Candidate{Resource: resource(nil), Trouble: "disk nearly full"},
		// success 0.95 · 0.8 = 0.76
		9474, 19000, map[string]float64{rank.TermSuccess: 2274}},
	{"the endpoint warns", asks(time.Hour), rank.Candidate{Resource: resource(nil), Endpoint: glue.Endpoint{Health: "warning"}},
		9474, 19000, nil},
	{"a queue that ends jobs after an hour, a job that says nothing", jdl.Job{},
		rank.Candidate{Resource: resource(func(r *glue.Resource) { r.MaxWallTime = glue.Some(time.Hour) })},
		// 1 - 1/e = 0.63212; 7200 / 0.95 / 0.63212
		11990, 24046, map[string]float64{rank.TermSuccess: 379, rank.TermLimit: 4411}},
	{"the queue's default counts where it has one", jdl.Job{},
		rank.Candidate{Resource: resource(func(r *glue.Resource) {
			r.MaxWallTime, r.DefaultWallTime = glue.Some(100*time.Hour), glue.Some(time.Hour)
		})},
		11990, 24046, nil},
	{"a limit far away is none", jdl.Job{}, rank.Candidate{Resource: resource(func(r *glue.Resource) { r.MaxWallTime = glue.Some(100 * time.Hour) })},
		7579, 15200, map[string]float64{rank.TermLimit: none}},
	{"two files, of which one lies near", data, rank.Candidate{Resource: resource(func(r *glue.Resource) {
		r.CloseSEs = []glue.StorageBinding{{SE: "NEAR.example.org"}}
	})},
		7647, 15200, map[string]float64{rank.TermStageIn: 65}},
	{"two files of which nothing is known", data, rank.Candidate{Resource: resource(nil)},
		7705, 15200, map[string]float64{rank.TermStageIn: 120}},
	{"the same where such jobs ran before", data, rank.Candidate{Resource: resource(nil),
		History: &rank.History{RunTime: glue.Some(20 * time.Minute), Overhead: glue.Some(30 * time.Second)}},
		// (3600 + 120 + 1200 + 30) / 0.95; (14400² + 360²)^½ / 0.95
		5211, 15163, map[string]float64{rank.TermRun: 1200, rank.TermOverhead: 30}},
	{"a user whose jobs use a tenth", asks(10 * time.Hour), rank.Candidate{Resource: resource(nil), Usage: rank.Usage{Used: 1, Asked: 10, Jobs: 45}},
		// (4.5 + 5) / 50 = 0.19 of 36000 s; (3600 + 6840) / 0.95
		10989, 15311, map[string]float64{rank.TermRun: 6840, rank.TermUsage: 0}},
	{"a clock of 1250 MHz", asks(time.Hour), rank.Candidate{Resource: resource(func(r *glue.Resource) { r.CPUClock = glue.Some[int64](1250) })},
		// 0.3 of 7200 s
		11368, 15327, map[string]float64{rank.TermRun: 7200}},
	{"an exact forecast", asks(time.Hour), rank.Candidate{Resource: resource(nil), Forecasts: sure(10 * time.Minute)},
		// σ 1 s against 14400 s: the prior weighs nothing; 1080 / 0.95
		4421, 1137, map[string]float64{rank.TermForecast: 600, rank.TermPrior: 0}},
	{"a forecast whose waits were twice as long so far", asks(time.Hour), rank.Candidate{Resource: resource(nil), Forecasts: sure(10 * time.Minute),
		History: &rank.History{WaitCorrection: glue.Some(2.0)}},
		5053, 1137, map[string]float64{rank.TermForecast: 1200}},
	{"a forecast of five minutes ago without any error", asks(time.Hour), rank.Candidate{Resource: resource(nil),
		Forecasts: []rank.Forecast{{Source: "f", Made: now.Add(-5 * time.Minute), Median: 35 * time.Minute}}},
		// 1800 s ± (1800 + 300) against 3600 ± 14400: weights 0.97918, 0.02082
		5724, 2465, map[string]float64{rank.TermForecast: 1763, rank.TermPrior: 75}},
	{"a queue-length service of ten minutes ago: 30 jobs, 5 of them in the CE, 20 slots, all busy", asks(time.Hour), rank.Candidate{
		Resource: resource(func(r *glue.Resource) {
			r.TotalSlots, r.FreeSlots = glue.Some[int64](20), glue.Some[int64](0)
			r.StateIsPlaceholder = true
		}),
		Queue: &rank.QueueLength{Source: "q", Lengths: []int64{20, 5}, CE: 5, At: now.Add(-10 * time.Minute)}},
		// (30 + 1) · 3600 / 20 = 5580 ± 1200 s, weight 0.993103; the prior 0.006897
		9649, 1696, map[string]float64{rank.TermQueue: 5542, rank.TermPrior: 25, rank.TermCounters: none}},
	{"the service tells the resource's own queue", asks(time.Hour), rank.Candidate{
		Resource: resource(func(r *glue.Resource) {
			r.TotalSlots, r.FreeSlots = glue.Some[int64](20), glue.Some[int64](0)
			r.StateIsPlaceholder = true
		}),
		Queue: &rank.QueueLength{Source: "q", Lengths: []int64{20, 5}, Own: glue.Some[int64](9), At: now.Add(-10 * time.Minute)}},
		// (9 + 1) · 3600 / 20 = 1800 s
		5697, 1696, map[string]float64{rank.TermQueue: 1788, rank.TermPrior: 25}},
	{"a published response of an hour ago, two jobs of this call there beyond the free slot", asks(time.Hour), rank.Candidate{Age: time.Hour,
		Resource: resource(func(r *glue.Resource) {
			r.EstimatedWait, r.FreeSlots, r.TotalSlots = glue.Some(30*time.Minute), glue.Some[int64](1), glue.Some[int64](4)
			r.StateIsPlaceholder = true
		})},
		// before anything is placed: 1800 ± 10800 against 3600 ± 14400: weights 0.64, 0.36; (2448 + 3600) / 0.95; (8640² + 1080²)^½ / 0.95
		6366, 9166, map[string]float64{rank.TermResponse: 1152, rank.TermPrior: 1296}},
}

func TestWorkedExamples(t *testing.T) {
	for _, w := range workedExamples {
		got := order(t, rank.Hybrid, &w.job, []rank.Candidate{w.c}, seeded(1))[0]
		if math.Abs(-got.Score-w.total) > 1 {
			t.Errorf("%s: done after %.1f s, by hand %.0f", w.name, -got.Score, w.total)
		}
		if math.Abs(got.Uncertainty-w.sigma) > 1+w.sigma/1000 {
			t.Errorf("%s: known to %.1f s, by hand %.0f", w.name, got.Uncertainty, w.sigma)
		}
		seconds := map[string]float64{}
		sum := 0.0
		for _, term := range got.Terms {
			seconds[term.Name] = term.Seconds
			sum += term.Seconds
		}
		if math.Abs(sum+got.Score) > 0.01 {
			t.Errorf("%s: the terms make %.1f s, the score %.1f", w.name, sum, -got.Score)
		}
		for name, want := range w.terms {
			is, ok := seconds[name]
			if ok == math.IsNaN(want) || ok && math.Abs(is-want) > 1 {
				t.Errorf("%s: %s adds %.1f s (%v), by hand %.0f", w.name, name, is, ok, want)
			}
		}
	}
}

// Jobs that this call has placed fill the free slots first; what is beyond them waits for as long as such jobs run.
func TestWorkedPlacement(t *testing.T) {
	job := asks(time.Hour)
	r := resource(func(r *glue.Resource) {
		r.EstimatedWait, r.FreeSlots, r.TotalSlots = glue.Some(30*time.Minute), glue.Some[int64](1), glue.Some[int64](4)
		r.StateIsPlaceholder = true
	})
	p, err := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	tally := rank.NewTally()
	tally.Place(r, 2)
	tally.Earlier(r, 1)
	got, _ := p.NewField(&job, now, []rank.Candidate{{Resource: r}}, tally, nil).Order(seeded(1), 0)
	// both words are 1800 s later: (3 - 1) · 3600 / 4; 3600 ± 7200, 5400 ± 14400: weights 0.8, 0.2
	if want := (3600*0.8 + 5400*0.2 + 3600) / 0.95; math.Abs(-got[0].Score-want) > 1 {
		t.Errorf("done after %.0f s, by hand %.0f", -got[0].Score, want)
	}
}

// A formula sees the Rank of the job where it is a number, and else what is not known.
func TestFormulaSeesRank(t *testing.T) {
	for _, v := range []struct {
		rank classad.Value
		want float64
	}{{classad.RealValue(-7), -7}, {classad.IntValue(3), 3}, {classad.UndefinedValue(), 42}, {classad.StringValue("7"), 42}} {
		got := order(t, "formula:orElse(rank, 42)", &jdl.Job{}, []rank.Candidate{{Resource: resource(nil), JDLRank: v.rank}}, seeded(1))
		if len(got) != 1 || got[0].Score != v.want {
			t.Errorf("rank %v: %+v, want %v", v.rank, got, v.want)
		}
	}
}

// What published 30 waiting jobs and 4 free slots and has got 6 jobs since has 32 waiting on 8 slots.
func TestFastestQueueCountsWhatIsPlaced(t *testing.T) {
	r := resource(func(r *glue.Resource) {
		r.Waiting, r.FreeSlots, r.TotalSlots = glue.Some[int64](30), glue.Some[int64](4), glue.Some[int64](8)
	})
	p, err := rank.ParsePolicy(rank.FastestQueue, rank.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	tally := rank.NewTally()
	for range 6 {
		tally.Place(r, 1)
	}
	got, _ := p.NewField(&jdl.Job{}, now, []rank.Candidate{{Resource: r}}, tally, nil).Order(seeded(1), 0)
	if got[0].Score != -4 {
		t.Errorf("%v, want -(30 + 2) / 8", got[0].Score)
	}
}
