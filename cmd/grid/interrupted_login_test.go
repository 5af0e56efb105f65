package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInterruptedAtASilentCluster: Ctrl-C ends what asks about a job at a cluster that does not answer, and the exit code says
// that it was interrupted: what was not asked to the end is no answer.
func TestInterruptedAtASilentCluster(t *testing.T) {
	t.Parallel()
	r := newRogueLogin(t)
	if err := os.WriteFile(filepath.Join(r.dir, "job.jdl"), []byte(`Executable = "/bin/true"; StdOutput = "out"; RetryCount = 0;`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := r.grid(0, "submit", "--info", r.url("slurm"), "job.jdl")
	id, _, _ := strings.Cut(h.out, " ")
	if h.code != 0 {
		t.Fatalf("%d %s", h.code, h.errs)
	}
	for _, command := range []string{"squeue", "sacct", "scontrol"} {
		r.script(command, "exec sleep 20")
	}
	for _, verb := range []string{"why", "log"} {
		if h := r.grid(2*time.Second, verb, id); h.code != 130 {
			t.Errorf("%s: %d %q %q", verb, h.code, h.out, h.errs)
		} else if h.took > 5*time.Second {
			t.Errorf("%s: it took %v", verb, h.took)
		}
	}
}
