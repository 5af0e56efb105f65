package rank_test

import (
	"math"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

func TestUsageFollowsTheLastJobs(t *testing.T) {
	var u rank.Usage
	if got := u.Share(); got != 1 {
		t.Errorf("of no job: %v", got)
	}
	u.Add(time.Hour, 0)
	u.Add(0, time.Hour)
	u.Add(-time.Hour, time.Hour)
	if u.Jobs != 0 {
		t.Errorf("%+v", u)
	}
	for range 1000 {
		u.Add(time.Hour, time.Hour)
	}
	if got := u.Share(); got != 1 {
		t.Errorf("of all: %v", got)
	}
	for range 500 {
		u.Add(6*time.Minute, time.Hour)
	}
	if got, want := u.Share(), (50*0.1+5)/55; math.Abs(got-want) > 1e-3 {
		t.Errorf("%v, want %v", got, want)
	}
}

// A job that asks for a day and will take a tenth of it goes where it need not wait,
// not where it would run faster for a day.
func TestShareOfTheTimeAskedFor(t *testing.T) {
	choose := func(usage rank.Usage) (string, []rank.Term) {
		var cs []rank.Candidate
		for id, of := range map[string]struct {
			speed float64
			wait  time.Duration
		}{"fast": {20, 4 * time.Hour}, "slow": {10, 0}} {
			cs = append(cs, rank.Candidate{
				Resource:  &glue.Resource{ID: id, Benchmarks: map[string]float64{"hep-spec06": of.speed}},
				Forecasts: []rank.Forecast{rank.AtMost(now, time.Time{}, of.wait)},
				Usage:     usage,
			})
		}
		best := order(t, "hybrid", &jdl.Job{Demand: jdl.Demand{WallTime: 24 * time.Hour}}, cs, seeded(1))[0]
		return best.Resource.ID, best.Terms
	}
	if got, _ := choose(rank.Usage{}); got != "fast" {
		t.Errorf("not known: %s", got)
	}
	got, terms := choose(rank.Usage{Used: 1, Asked: 100, Jobs: 50})
	if got != "slow" {
		t.Errorf("a tenth: %s", got)
	}
	told := false
	for _, term := range terms {
		told = told || term.Name == rank.TermUsage && math.Abs(term.Raw-0.1) < 1e-9 && term.Source == "history" && term.Seconds == 0
		if term.Name == rank.TermRun && math.Abs(term.Seconds-8640) > 1 {
			t.Errorf("run of %v s", term.Seconds)
		}
	}
	if !told {
		t.Errorf("nobody tells of the usage: %+v", terms)
	}
}
