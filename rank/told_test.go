package rank_test

import (
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// blocked is a cluster where one job has all slots and none waits, with the words
// of its own batch system: a forecast that the job ends early with some chance and
// at its limit else, no jobs in the queue, no slots free.
func blocked(id, source string, limit time.Duration, now time.Time) rank.Candidate {
	return rank.Candidate{
		Resource: &glue.Resource{ID: id, Name: id, Source: source, TotalSlots: glue.Some[int64](64), FreeSlots: glue.Some[int64](0), Waiting: glue.Some[int64](0)},
		Forecasts: []rank.Forecast{{Source: source, Made: now, Low: 0, Median: limit, High: limit,
			Quantiles: []rank.Quantile{{Chance: 0.1}, {Chance: 0.5, Wait: limit}, {Chance: 0.9, Wait: limit}}}},
		Queue: &rank.QueueLength{Source: source, Own: glue.Some[int64](0), Lengths: []int64{0}, At: now},
	}
}

// Behind a job of 20 minutes the wait is shorter than behind one of 55, though no
// job waits behind either and the longer forecast is the less certain one.
func TestForecastCountsItsOwnQueue(t *testing.T) {
	cs := []rank.Candidate{blocked("long", "slurm+ssh://b", 55*time.Minute, now), blocked("short", "slurm+ssh://a", 20*time.Minute, now)}
	rs := order(t, "hybrid", &jdl.Job{}, cs, seeded(1))
	if rs[0].Resource.ID != "short" {
		t.Errorf("first is %s", ids(rs))
	}
	for _, r := range rs {
		for _, term := range r.Terms {
			if term.Name == rank.TermQueue || term.Name == rank.TermCounters {
				t.Errorf("%s: %s by %s is a second opinion", r.Resource.ID, term.Name, term.Source)
			}
		}
	}
}

// What another source says, or the same one much later, is a word of its own.
func TestOtherSourcesAreHeard(t *testing.T) {
	c := blocked("a", "ldap://bdii", time.Hour, now)
	c.Forecasts[0].Source = "https://agent"
	c.Queue.At = now
	old := blocked("b", "slurm:", time.Hour, now.Add(-time.Hour))
	old.Queue.At, old.Age = now, 0
	for _, c := range []rank.Candidate{c, old} {
		heard := 0
		for _, term := range order(t, "hybrid", &jdl.Job{}, []rank.Candidate{c}, seeded(1))[0].Terms {
			if term.Name == rank.TermQueue || term.Name == rank.TermCounters {
				heard++
			}
		}
		if heard != 2 {
			t.Errorf("%s: %d of 2 words are heard", c.Resource.ID, heard)
		}
	}
}
