package monitor

import (
	"testing"
	"time"
)

// A check that is old, or of a time that is yet to come since one of the clocks is wrong, says nothing of now.
func TestChecksOfAnotherTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	n := nagios{critical: "*", now: func() time.Time { return now }}
	for age, want := range map[time.Duration]int{0: 1, time.Hour: 1, -time.Hour: 1, 24 * time.Hour: 0, -24 * time.Hour: 0} {
		if got := n.reports([]check{{host: "ce", down: true, at: now.Add(-age), every: 5 * time.Minute}}); len(got) != want {
			t.Errorf("%s old: %d reports, want %d", age, len(got), want)
		}
	}
}
