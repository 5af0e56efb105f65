package scheduler

import (
	"strings"
	"testing"
	"time"
)

// TestFunctionsThatLetNobodyIn: an owner is told of a function that gives no job a number above 0, and of none that gives one to some job only.
func TestFunctionsThatLetNobodyIn(t *testing.T) {
	for _, text := range []string{"priority / 0", "0.0 / 0", "1 / (priority - priority)", `vo == "atlas" && vo == "cms" ? priority : 0.0 / 0`, "hour > 23 ? 1 : 0.0 / 0",
		"0", "-priority", "hour > 23 ? priority : 0", `vo == "atlas" && vo == "cms" ? priority : -1`} {
		if err := TryFunction(text); err == nil || !strings.Contains(err.Error(), "lets nobody in") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "priority", "hour >= 8 && hour < 18 ? priority / 2 : priority", "priority / waiting", "priority / (cpus - busy)",
		`vo == "atlas" ? priority : 0.0 / 0`, `user startsWith "/DC=org/" && memory < 3977 && wall > 777 ? priority : 0.0 / 0`,
		"weekday == 6 && procs == 17 ? 1 : 0.0 / 0", "priority > 123456.5 ? priority : 0.0 / 0",
	} {
		if err := TryFunction(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	// one that takes its time at each job
	long := "(" + strings.Repeat("vo + ", 90) + `"") == "x" ? 1 : "` + strings.Repeat("a", 3000) + `" == vo ? 0.0 / 0 : 0.0 / 0`
	began := time.Now()
	if err := TryFunction(long); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
