package scheduler

import (
	"strings"
	"testing"
)

// One key twice in a request is one job where both say the same; of unlike ones the second is refused, and not taken for the first.
func TestKeysOfOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	job := func(key, program string) Submission {
		return Submission{Key: key, JDL: `[ Executable = "` + program + `"; WallTime = 600; Requirements = true; ]`}
	}
	got, err := w.s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{job("a", "/bin/true"), job("a", "/bin/true"), job("a", "/bin/false"), job("b", "/bin/false")})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].ID == "" || got[1].ID != got[0].ID || got[2].ID != "" || !strings.Contains(got[2].Error, "another job of the same request") || got[3].ID == "" || got[3].ID == got[0].ID {
		t.Errorf("%+v", got)
	}
}
