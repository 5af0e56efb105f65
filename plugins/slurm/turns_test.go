package slurm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTurns: jobs that wait for licences or by the limit of a QOS wait for those that have
// them. The rows are what squeue of a 22.05 said of two licences, and of QOS with two jobs
// of a user, eight processors of a user and eight in all; when 37, 41, 44 and 47 had ended,
// it started 39, 45 and 49 (and 43 in place of its equal 42).
func TestTurns(t *testing.T) {
	text, err := os.ReadFile("testdata/turns.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{}
	for line := range strings.Lines(string(text)) {
		c.jobs = append(c.jobs, strings.Split(strings.TrimSuffix(line, ";\n"), ";"))
	}
	want := map[string]string{"39": "[{37 end}]", "40": "[{38 end}]", "42": "[{41 end}]", "43": "[{42 end}]",
		"45": "[{44 end}]", "46": "[{45 end}]", "49": "[{47 end}]", "50": "[{48 end}]"}
	s := c.state(time.Unix(1795729638, 0), "c")
	for _, j := range s.Jobs {
		if got := strings.ReplaceAll(fmt.Sprint(j.After), " 0s}", "}"); j.Started.IsZero() && got != want[j.ID] {
			t.Errorf("%s waits for %s, want %s", j.ID, got, want[j.ID])
		}
	}
	if len(s.Jobs) != 14 {
		t.Errorf("%d jobs", len(s.Jobs))
	}
}
