package batch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/testdata/testbed"
)

// longer believes that every job outlasts its limit.
type longer struct{ Estimate }

// Run implements Belief.
func (longer) Run(t *Task, elapsed int64) int64 { return max(t.Limit*3/2, elapsed+1) }

// TestSlurmGates holds schedules against those of a machine that remembers nothing
// where jobs outlast their limits, at the very seconds at which others pass the first
// of two gates.
func TestSlurmGates(t *testing.T) {
	testbed.Computes(t)
	lines, seeds := 0, testbed.Seeds(16, 120)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 53))
		s := crowdedState(rng, 12+rng.IntN(20), 120+rng.IntN(60))
		s.Reservations = nil
		var running []Job
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if !j.Started.IsZero() {
				running = append(running, *j)
				continue
			}
			if rng.IntN(6) == 0 {
				r := running[rng.IntN(len(running))]
				j.Begin = r.Started.Add(r.Requested)
				j.After = []Dependency{{running[rng.IntN(len(running))].ID, OnEnd, 0}}
			}
		}
		for _, b := range []Belief{longer{}, halves{}} {
			got, want := scheduled(t, s, Policy{Name: "slurm", Slurm: Slurm{fine: true}}, b, false), scheduled(t, s, Policy{Name: "slurm", Slurm: Slurm{fine: true}}, b, true)
			if lines += len(want); !slices.Equal(got, want) {
				t.Errorf("seed %d, %T: %s", seed, b, unlike(got, want))
			}
		}
	}
	if lines < 125*int(seeds) {
		t.Errorf("only %d lines compared", lines)
	}

}
