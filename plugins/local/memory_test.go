package local_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// TestMemoryIsTheJobsAlone: what the supervisor had before it became the job is
// not the job's; what the job takes is.
func TestMemoryIsTheJobsAlone(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("%s has no /proc to look at", runtime.GOOS)
	}
	b := newBackend(t, local.Site{Name: "a"})
	small := submit(t, b, request("a", "small", shell("sleep 0.2")))[0]
	st := wait(t, b, small, plugins.State.Final)
	if st.MaxMemory <= 0 || st.MaxMemory > 8<<10 {
		t.Errorf("a shell that sleeps had %d kB, want some and at most 8 MB", st.MaxMemory)
	}
	large := submit(t, b, request("a", "large", shell("head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null")))[0]
	st = wait(t, b, large, plugins.State.Final)
	if st.MaxMemory < 80<<10 || st.MaxMemory > 200<<10 {
		t.Errorf("a program of 90 MB had %d kB", st.MaxMemory)
	}
	if left := strings.TrimSpace(fetched(t, b, large, "err")); left != "" {
		t.Error(left)
	}
}
