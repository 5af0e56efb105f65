package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestQuotaAndLocks: where a server keeps the records, what a user may have of its disk is told when data are to be on it, and it may
// have no locks. The command says which file that is about, what the system said, and what helps; nothing is sent.
func TestQuotaAndLocks(t *testing.T) {
	t.Parallel()
	needStrace(t)
	b := newBench(t, program(t))
	for _, fault := range []struct{ calls, as, said, helps string }{
		{"fsync,fdatasync", "EDQUOT", "disk quota exceeded", "or in your quota"},
		{"pwrite64,fsync,fdatasync", "EDQUOT", "disk quota exceeded", "or in your quota"},
		{"flock", "ENOLCK", "no locks available", "--state-dir"},
		{"flock", "ENOSYS", "function not implemented", "--state-dir"},
	} {
		b.fresh(t)
		if out, err := b.grid("list"); err != nil { // there are records, without a job
			t.Fatal(err, out)
		}
		cmd := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+fault.calls, "-e", "inject="+fault.calls+":error="+fault.as,
			b.exe, "submit", "--info", "local:", "job.jdl")
		cmd.Dir, cmd.Env = b.home, b.env
		out, err := cmd.CombinedOutput()
		said := string(out)
		if err == nil || !strings.Contains(said, "jobs.db") || !strings.Contains(said, fault.said) || !strings.Contains(said, fault.helps) {
			t.Errorf("%s fails with %s: %v, %s", fault.calls, fault.as, err, said)
		}
		if _, err := os.Stat(b.ran); err == nil {
			t.Errorf("%s fails with %s: a job ran that was never recorded", fault.calls, fault.as)
		}
	}
}
