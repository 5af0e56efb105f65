package main_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// TestTwoBringTheSame: the output of jobs that is asked for twice at once, to the same place, comes whole for both who ask.
func TestTwoBringTheSame(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	files := w.jobs(60, "head -c 40000 /dev/zero")
	w.grid(append([]string{"submit", "--wait", "--info", "local:"}, files...)...)
	to := filepath.Join(w.dir, "out")
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			if out, msg, code := w.try("output", "--all", "--dir", to); code != 0 {
				t.Errorf("%s: exit code %d: %s%s", fmt.Sprint("call ", i+1), code, out, msg)
			}
		})
	}
	both.Wait()
	if n := wholeFiles(t, to); n != len(w.status()) {
		t.Errorf("output of %d of %d jobs", n, len(w.status()))
	}
}
