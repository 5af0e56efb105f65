package rank_test

import (
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/rank"
)

// better lists one improvement each of one raw term of a candidate.
var better = map[string]func(c *rank.Candidate){
	"less waiting":   func(c *rank.Candidate) { c.Resource.Waiting.V -= 1 + abs(c.Resource.Waiting.V)/2 },
	"less in the CE": func(c *rank.Candidate) { c.Resource.PreLRMSWaiting.V -= 1 + abs(c.Resource.PreLRMSWaiting.V)/2 },
	"more free":      func(c *rank.Candidate) { c.Resource.FreeSlots.V += 1 + abs(c.Resource.FreeSlots.V)/2 },
	// A number that is not published (a benchmark of 0) stays so: doubled.
	"faster clock": func(c *rank.Candidate) { c.Resource.CPUClock.V *= 2 },
	"benchmark":    func(c *rank.Candidate) { c.Resource.Benchmarks["hep-spec06"] *= 2 },
	"shorter published wait": func(c *rank.Candidate) {
		c.Resource.EstimatedWait.V -= time.Minute + c.Resource.EstimatedWait.V/2
	},
	"more wall time": func(c *rank.Candidate) { c.Resource.MaxWallTime.V *= 2 },
	"earlier forecast": func(c *rank.Candidate) {
		for i := range c.Forecasts {
			c.Forecasts[i].Median -= time.Minute
		}
	},
	"shorter queue": func(c *rank.Candidate) {
		if c.Queue != nil {
			c.Queue.CE -= 5
		}
	},
	"more success": func(c *rank.Candidate) {
		if c.History != nil {
			c.History.Success.V += 0.1
		}
	},
	"shorter runs": func(c *rank.Candidate) {
		if c.History != nil && c.History.RunTime.V > 0 {
			c.History.RunTime.V /= 2
			c.History.RunTime.V = max(1, c.History.RunTime.V)
		}
	},
}

func abs(x int64) int64 { return max(x, -x) }

func TestBetterTermNeverLowersTheRank(t *testing.T) {
	names := []string{rank.Hybrid, rank.Paper, rank.FastestQueue, rank.ForecastOnly, rank.Random}
	for what, improve := range better {
		for _, name := range names {
			for seed := range uint64(150) {
				before := order(t, name, &jdl.Job{}, randomCandidates(seeded(seed), 8), seeded(seed))
				cs := randomCandidates(seeded(seed), 8)
				improve(&cs[3])
				after := order(t, name, &jdl.Job{}, cs, seeded(seed))
				if b, a := place(before, "ce03"), place(after, "ce03"); a > b {
					t.Fatalf("%s, policy %s, seed %d: from place %d to %d", what, name, seed, b, a)
				}
			}
		}
	}
}

func place(rs []rank.Ranked, id string) int {
	for i, r := range rs {
		if r.Resource.ID == id {
			return i
		}
	}
	return -1
}
