package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDiskFails: the Nth call of a kind fails in each thread, of the command and
// of whatever it starts, for six seconds. The command ends, with an error or having done what
// it says; then the disk is well again, and all jobs can be followed to their
// end: none is lost, none ran twice.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	needStrace(t)
	steps := []int{1, 4, 11} // each some 0.7 s
	if os.Getenv("GRID_LONG") != "" {
		steps = nil
		for n := range 40 {
			steps = append(steps, n+1)
		}
	}
	for _, fault := range []struct{ calls, as string }{
		{"fsync,fdatasync", "EIO"}, {"pwrite64", "ENOSPC"}, {"renameat,renameat2", "EIO"}, {"openat,open", "EMFILE"},
		{"mkdirat", "ENOSPC"}, {"write", "EIO"}, {"unlinkat,unlink", "EIO"},
	} {
		t.Run(fault.calls+" "+fault.as, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, program(t))
			for _, n := range steps {
				if b.fails(t, fault.calls, fault.as, n); t.Failed() {
					return
				}
			}
		})
	}
}

// fails goes through the user's day with one fault.
func (b *bench) fails(t *testing.T, calls, as string, n int) {
	t.Helper()
	b.fresh(t)
	when := fmt.Sprintf("%s number %d of a thread fails with %s", calls, n, as)
	// After some seconds strace lets go of the programs: the disk is well again.
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + calls,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", calls, as, n)}, b.script()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.home, b.env, time.Minute
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("%s: nothing ends: %s", when, out)
		return
	}
	b.rest(t)
	said, _ := os.ReadFile(b.said)
	b.look(t, when, string(said), nil)
	if strings.Contains(string(said), "exit 0") && len(b.runs()) != 3 {
		t.Errorf("%s: exit code 0, and %d jobs ran", when, len(b.runs()))
	}
	if t.Failed() {
		t.Logf("said until then:\n%s%s", said, out)
	}
}
