package sim

import (
	"testing"

	"gridbroker/testdata/testbed"
)

// Where what is published is half an hour old, jobs land in long queues. Taking
// them back where that is sure to gain loses nothing, and no job goes to and fro.
func TestReplanningGains(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "stale.toml")
	s.Policies, s.Seeds, s.Jobs.Count, s.Life = []string{"hybrid", "replan"}, 3, 400, true
	r := compare(t, s)
	wait := func(policy string) float64 { return r.figure(policy, "wait_mean").Mean }
	moved := r.figure("replan", "moved").Mean
	t.Logf("mean wait %.0f s, replanned %.0f s; %.0f of 400 jobs moved", wait("hybrid"), wait("replan"), moved)
	if wait("replan") > wait("hybrid") {
		t.Errorf("replanning loses: mean wait %.0f s instead of %.0f s", wait("replan"), wait("hybrid"))
	}
	if moved == 0 || moved > 200 {
		t.Errorf("%.0f of 400 jobs were moved", moved)
	}
	for _, run := range r.Runs {
		if run.Policy == "replan" && (run.Jobs+run.Unplaced != 400 || run.Failed > 0) {
			t.Errorf("seed %d: %d jobs ran, %d unplaced, %d failed", run.Seed, run.Jobs, run.Unplaced, run.Failed)
		}
	}
}
