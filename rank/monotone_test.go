package rank_test

import (
	"math"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
	"gridbroker/testdata/testbed"
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
	"less overhead": func(c *rank.Candidate) {
		if c.History != nil {
			c.History.Overhead.V -= time.Minute
		}
	},
	"no complaint": func(c *rank.Candidate) { c.Trouble = "" },
	"higher Rank": func(c *rank.Candidate) {
		if v, ok := c.JDLRank.Number(); ok {
			c.JDLRank = classad.RealValue(v + 1 + math.Abs(v)/2)
		}
	},
	"closer data": func(c *rank.Candidate) {
		c.Resource.CloseSEs = append(c.Resource.CloseSEs, glue.StorageBinding{SE: "se.example.org"})
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
	testbed.Computes(t)
	data := []jdl.InputFile{{Source: "https://se.example.org/in.dat", Name: "in.dat"}}
	plain, ranked := &jdl.Job{InputSandbox: data}, &jdl.Job{Rank: &classad.Literal{}, InputSandbox: data}
	fuzzy := &jdl.Job{Rank: &classad.Literal{}, FuzzyRank: true, FuzzyFactor: 1}
	policies := map[string][]*jdl.Job{
		rank.Hybrid: {plain, ranked}, rank.JDL: {ranked}, rank.Paper: {plain}, rank.FastestQueue: {plain}, rank.ForecastOnly: {plain},
		rank.Data: {plain}, rank.Random: {plain}, "formula:-completion - wait": {plain}, "formula:orElse(rank, 0)": {ranked},
	}
	for what, improve := range better {
		for name, jobs := range policies {
			for _, job := range jobs {
				for seed := range uint64(80) {
					neverLower(t, what, name, job, improve, seed)
				}
			}
		}
	}
	// What raises the mean of the ranks lowers the weight of all others.
	for seed := range uint64(150) {
		neverLower(t, "higher Rank", rank.JDL, fuzzy, better["higher Rank"], seed)
	}
}

func neverLower(t *testing.T, what, name string, job *jdl.Job, improve func(*rank.Candidate), seed uint64) {
	t.Helper()
	before := order(t, name, job, randomCandidates(seeded(seed), 8), seeded(seed))
	cs := randomCandidates(seeded(seed), 8)
	improve(&cs[3])
	after := order(t, name, job, cs, seeded(seed))
	if b, a := place(before, "ce03"), place(after, "ce03"); a > b {
		t.Fatalf("%s, policy %s, Rank %v, seed %d: from place %d to %d", what, name, job.Rank != nil, seed, b, a)
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
