package scheduler

import (
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/scheduler/plan"
)

// Where most slots are free and their owners' function keeps a job out, its user reads that, and nothing of local jobs.
func TestOwnersNoIsSaid(t *testing.T) {
	c := plan.Why{Slots: 5, Owner: 3, Priority: 2}
	r := &Reasons{Counts: c}
	if said := strings.Join(r.words(&Job{}, &memory{}, time.Unix(0, 0)), "\n"); !strings.Contains(said, "3 slots are free, but their owner's priority function") {
		t.Error(said)
	}
	if said := blocked(c, &Job{}); !strings.Contains(said, "owners' functions") {
		t.Error(said)
	}
}
