package jdl

import "testing"

func TestEnvironmentWishes(t *testing.T) {
	for _, tt := range []struct {
		wish, tag string
		meets     bool
	}{
		{"VEE-Debian11", "vee-debian11", true}, {"VEE-Debian11", "VEE-Debian11-1.2", false},
		{"ATLAS>=1.9", "ATLAS-1.10", true}, {"ATLAS>=1.9", "atlas-1.9", true}, {"ATLAS>=1.9", "ATLAS-1.8.9", false},
		{"ATLAS>1.9", "ATLAS-1.9.1", true}, {"ATLAS>1.9", "ATLAS-1.9", false}, {"ATLAS<=2", "ATLAS-2", true},
		{"ATLAS<2", "ATLAS-10", false}, {"ATLAS==1.0", "ATLAS-1.0", true}, {"ATLAS!=1.0", "ATLAS-1.1", true},
		{"ATLAS!=1.0", "ATLAS-1.0", false}, {"ATLAS>=1.9", "ATLAS", false}, {"ATLAS>=1.9", "ATLAS-beta-3", false},
		{"ATLAS>=1.9", "ATLAS-1.x", false}, {"ATLAS>=1.9", "ATLASX-3", false}, {">=1", ">=1", true}, {"A>=", "A-1", false},
	} {
		if got := ParseEnvironmentWish(tt.wish).Meets(tt.tag); got != tt.meets {
			t.Errorf("%s meets %s: %t", tt.tag, tt.wish, got)
		}
	}
	if best, ok := ParseEnvironmentWish("X>=1.2").Best([]string{"X-1.1", "X-1.9", "X-1.10", "X-1.3"}); !ok || best != "X-1.10" {
		t.Errorf("best %q", best)
	}
}

// The clauses that ask for an environment are found by what they say; in either version of GLUE.
func TestEnvironmentClauses(t *testing.T) {
	job := parseTest(t, `Executable = "/bin/ls"; RunTimeEnvironment = {"A >= 1.2 opt", "B"};
Requirements = Member("VEE-X", other.GLUE2ApplicationEnvironmentAppName) && true;`)
	if got := job.Demand.RuntimeEnvironments; len(got) != 3 || got[0] != "A>=1.2" || got[1] != "B" || got[2] != "VEE-X" {
		t.Errorf("%q", got)
	}
	for wish, want := range map[string]string{"VEE-X": "Requirements", "B": "RunTimeEnvironment"} {
		if got, e := job.EnvironmentClause(wish); got != want || e == nil {
			t.Errorf("%s by %q", wish, got)
		}
	}
}
