package rank_test

import (
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// TestNearOfShortRuns: jobs of a kind that is known to run for a second are not drawn to a place where they wait for half a
// minute longer, although they name no run time; of a kind that runs for an hour some are. What differs by less than can be told
// is near for the shortest, too: else all who send such jobs would hit one place.
func TestNearOfShortRuns(t *testing.T) {
	for _, c := range []struct {
		runs, wait time.Duration
		drawn      bool
	}{{time.Second, 30 * time.Second, false}, {time.Second, time.Second, true}, {time.Hour, 30 * time.Second, true}} {
		worse := 0
		for seed := range uint64(100) {
			cs := make([]rank.Candidate, 2)
			for i, wait := range []time.Duration{0, c.wait} {
				r := &glue.Resource{ID: []string{"free", "full"}[i], Source: "bdii"}
				cs[i] = rank.Candidate{Resource: r, History: &rank.History{RunTime: glue.Some(c.runs)},
					Forecasts: []rank.Forecast{{Source: "s", Made: now, GoodUntil: now.Add(time.Minute), Low: wait, Median: wait, High: wait}}}
			}
			if got := order(t, rank.Hybrid, &jdl.Job{}, cs, seeded(seed)); got[0].Resource.ID == "full" {
				worse++
			}
		}
		if (worse > 0) != c.drawn {
			t.Errorf("jobs that run for %v: %d of 100 were sent where they wait for %v longer", c.runs, worse, c.wait)
		}
	}
}
