package slurm

import (
	"testing"
	"time"

	"gridbroker/plugins"
)

// TestOnHold: what squeue of 22.05 and 24.11 says of jobs that only a person lets start, and of those whose nodes boot. It has blanks where
// scontrol has lines; a job of a state of its own is not left out; a job that waits for a time or another has a priority.
func TestOnHold(t *testing.T) {
	for _, c := range []struct {
		state, reason, priority string
		held                    bool
	}{
		{"PENDING", "job requeued in held state", "0", true},
		{"SPECIAL_EXIT", "job requeued in special exit state", "0", true},
		{"REQUEUE_HOLD", "None", "5", true},
		{"PENDING", "launch failed requeued held", "5", true},
		{"PENDING", "JobHoldMaxRequeue", "5", true},
		{"PENDING", "a plugin of the site has said this", "0", true},
		{"PENDING", "BeginTime", "1000", false},
		{"PENDING", "Priority", "5", false},
	} {
		if j := job(t, map[byte]string{'T': c.state, 'r': c.reason, 'Q': c.priority}); j.Held != c.held || !j.Started.IsZero() {
			t.Errorf("%+v: %+v", c, j)
		}
	}
	if got := stateOf("PENDING", "job requeued in held state"); got != plugins.Held {
		t.Error(got)
	}
	j := job(t, map[byte]string{'T': "CONFIGURING", 'r': "None", 'S': "1795235402", 'N': "n[1-2]", 'C': "4", 'D': "2"})
	if !j.Started.Equal(time.Unix(1795235402, 0)) || len(j.Placed) != 2 {
		t.Errorf("its nodes boot: %+v", j)
	}
}
