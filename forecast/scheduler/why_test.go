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

// Who asks for what no cluster has is told which requirement it is and what there is instead, and from then on in the job's state, too.
// As long as one cluster would do, and only has nothing free, nothing of that is said.
func TestRequirementThatNoClusterMeetsIsNamed(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6, 6, 6)
	w.step(30)
	for key, v := range map[string]struct{ asks, want string }{
		"one":  {`other.GlueCEUniqueID == "c1"`, ""},
		"none": {`other.GlueCEUniqueID == "c7"`, `no cluster will do; c0 and 2 more: want other.GlueCEUniqueID == "c7", have GlueCEUniqueID "c0"`},
		"tag":  {`Member("VO-test-1", other.GlueHostApplicationSoftwareRunTimeEnvironment)`, "no cluster will do; c0 and 2 more: want VO-test-1, have no tags published"},
	} {
		id := w.submitJob("alice", key, `[ Executable = "/bin/true"; WallTime = 600; Requirements = `+v.asks+` ]`, 1)
		w.s.mem.explained = 0
		w.step(30)
		j := w.job(id)
		if v.want == "" {
			if j.State == Waiting {
				t.Errorf("%s: %s", key, j.Blocked)
			}
			continue
		}
		if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || r.Text[0] != v.want {
			t.Errorf("%s: %q, %v", key, r.Text, err)
		}
		if j.Blocked != v.want {
			t.Errorf("%s: blocked %q", key, j.Blocked)
		}
	}
}
