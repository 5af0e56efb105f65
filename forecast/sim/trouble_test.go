package sim

import (
	"fmt"
	"testing"
)

// hard parses two sites with local users and what is said beside them.
func hard(t *testing.T, head, more string) *Scenario {
	t.Helper()
	text := head + `
[jobs]
count = 60
load = 0.5
max_procs = 8
retries = 2
`
	for _, site := range []string{"a", "b"} {
		text += fmt.Sprintf("[[site]]\nname = %q\nprocs = 16\nlocal_load = 0.4\nrefresh = \"1m\"\nservices = true\n", site)
	}
	s, err := Parse("hard.toml", []byte(text+more))
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds, s.Policies = 1, append([]string{"random", "fastest-queue", "hybrid"}, own...)
	return s
}

// Local and global jobs that come to a site while it is down wait until it is back, under
// every policy, also where it is down from the beginning, and for longer than jobs come.
func TestJobsComeToASiteThatIsDown(t *testing.T) {
	const down = "[[failure]]\nkind = \"site\"\nsite = %q\nfrom = %q\nfor = %q\n"
	s := hard(t, `latency = "2m"`, fmt.Sprintf(down, "a", "0s", "30m")+fmt.Sprintf(down, "b", "1h", "90m")+fmt.Sprintf(down, "a", "2h", "300h")+fmt.Sprintf(down, "", "3h", "10m"))
	for _, r := range compare(t, s).Runs {
		if r.Jobs+r.Unplaced+r.Failed != 60 || r.Policy != GrASPaper && r.Unplaced > 0 || r.Utilisation > 1 {
			t.Errorf("%s: %d ran, %d unplaced, %d failed of 60; utilisation %g", r.Policy, r.Jobs, r.Unplaced, r.Failed, r.Utilisation)
		}
		if r.LocalWait < 60*3600 { // those of the first site wait until it is back
			t.Errorf("%s: local users wait %g s", r.Policy, r.LocalWait)
		}
	}
}

// The central scheduler books as far ahead as sending takes; jobs that can never be there in time for a slot are unplaced in the end.
func TestSlowNetworkEnds(t *testing.T) {
	for latency, unplaced := range map[string]int{"100s": 0, "20m": 20} {
		s := hard(t, fmt.Sprintf("latency = %q", latency), "")
		s.Jobs.Count, s.Policies = 20, []string{Stored}
		r := compare(t, s).Runs[0]
		if r.Jobs+r.Unplaced+r.Failed != 20 || r.Unplaced != unplaced {
			t.Errorf("latency %s: %d ran, %d unplaced, %d failed of 20", latency, r.Jobs, r.Unplaced, r.Failed)
		}
	}
}
