package slurm

import (
	"strings"
	"testing"
)

// Jobs that Slurm has not looked at since their begin are given one anew, all with one command; others are left as they are.
func TestWake(t *testing.T) {
	l := newLab(t)
	hs := append(l.submit(l.requests("a", 3)), l.submit(l.requests("b", 1))...)
	l.write("reason-1_2", "Priority\n")
	l.write("reason-1_3", "Resources\n")
	l.write("reason-2", "BeginTime\n")
	for _, err := range l.Wake(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
	if calls := l.lines("scontrol-calls"); len(calls) != 1 || !strings.HasSuffix(calls[0], " update JobId=1_1,2 StartTime=now") {
		t.Errorf("told %q", calls)
	}
	l.write("said-2", "Job is no longer pending execution for job 2\n")
	l.write("said-3", "slurm_update error: Access/permission denied\n")
	for want, last := 0, hs[3:]; want < 2; want++ {
		if err := l.Wake(t.Context(), last)[0]; (err != nil) != (want == 1) {
			t.Errorf("call %d: %v", want+2, err)
		}
	}
}
