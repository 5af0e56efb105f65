package sim

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// The scheduler whole, with its database, outbox and the agents of its sites,
// does what the planner alone does, a cycle or so later: it must not plan for
// earlier than a cycle takes. A seed gives the same bytes.
func TestWholeScheduler(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "gras.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 1, 40, []string{GrAS, Stored}
	a, b := compare(t, s), compare(t, s)
	planner, whole := a.Runs[0], a.Runs[1]
	t.Logf("mean waits: %.0f s by the planner, %.0f s by the scheduler; %d messages", planner.MeanWait, whole.MeanWait, whole.Messages)
	if whole.Jobs != 40 || whole.Booked < 40 || whole.Missed > 4 {
		t.Errorf("%d of 40 jobs ran, %d bookings, %d missed", whole.Jobs, whole.Booked, whole.Missed)
	}
	if cycle := s.Cycle.Seconds(); math.Abs(whole.MeanWait-planner.MeanWait) > 2*cycle {
		t.Errorf("mean wait %.0f s, by the planner alone %.0f s: more than two cycles apart", whole.MeanWait, planner.MeanWait)
	}
	one, _ := json.Marshal(whole)
	two, _ := json.Marshal(b.Runs[1])
	if string(one) != string(two) {
		t.Error("two runs of one seed differ")
	}
}

// Sites that fail, lie and swallow jobs: every job comes to one end, and those
// that failed were handed in again.
func TestWholeSchedulerInTrouble(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "failures.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 1, 150, []string{Stored}
	s.Cycle.Duration = 10 * time.Minute
	s.Failures[0].From.Duration, s.Failures[0].For.Duration = time.Hour, 4*time.Hour   // a black hole
	s.Failures[1].From.Duration, s.Failures[1].For.Duration = 8*time.Hour, 4*time.Hour // a site that goes down
	r := compare(t, s).Runs[0]
	t.Logf("%d ran, %d unplaced, %d failed, %d sent again, %d of %d bookings missed", r.Jobs, r.Unplaced, r.Failed, r.Again, r.Missed, r.Booked)
	if r.Jobs+r.Unplaced+r.Failed != 150 || r.Jobs < 140 || r.Again == 0 {
		t.Errorf("%d ran, %d unplaced, %d failed of 150, %d sent again", r.Jobs, r.Unplaced, r.Failed, r.Again)
	}
}
