package rank

import (
	"testing"
	"time"

	"gridbroker/glue"
)

// Jobs of one call hold their slots for as long as such jobs ran there before,
// not for the hour of a job of which nothing is known: the last of a thousand
// echoes at two slots is done in seconds, not in weeks.
func TestJobsOfACallHoldSlotsAsLongAsTheyRun(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := DefaultModel()
	sc := &scene{now: now, slots: 1, runTime: m.PriorRun.Seconds()}
	r := &glue.Resource{FreeSlots: glue.Some[int64](2), TotalSlots: glue.Some[int64](2), Waiting: glue.Some[int64](0)}
	c := &Candidate{Resource: r, Placed: Load{Jobs: 1000, Slots: 1000},
		Forecasts: []Forecast{{Made: now, PastError: glue.Some(time.Second)}}}
	if wait, _, _ := m.wait(sc, c); wait < 400*3600 {
		t.Errorf("nothing is known of such jobs: %.0f s, want some 500 hours", wait)
	}
	c.History = &History{RunTime: glue.Some(40 * time.Millisecond), Jobs: 10}
	if wait, _, _ := m.wait(sc, c); wait < 15 || wait > 30 {
		t.Errorf("they ran 40 ms: %.1f s, want some 20", wait)
	}
	if run := m.run(sc, c); run.Seconds != 0.04 || run.Uncertainty > 1 {
		t.Errorf("run time %.2f s, by %.2f s", run.Seconds, run.Uncertainty)
	}
}
