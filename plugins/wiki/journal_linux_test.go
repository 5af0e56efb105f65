package wiki

import (
	"errors"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gridbroker/batch/maui"
)

// TestFullDisk: what the journal cannot hold is refused and not done, and what it
// holds is read again, whatever of a line was written.
func TestFullDisk(t *testing.T) {
	c := NewCluster([]Node{node("n1", 2)}, time.Now)
	path := filepath.Join(t.TempDir(), "journal")
	if _, err := c.Journal(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Submit(job("j0", 1, 100), 0); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	full := was
	full.Cur = uint64(c.journal.written) + 10 // a part of the next line
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Skip(err)
	}
	err := c.Start(t.Context(), "j0", []string{"n1"})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if jobs, _ := c.Jobs(t.Context()); err == nil || jobs[0].State != maui.JobIdle {
		t.Errorf("%v, state %v: want it refused, and idle", err, jobs[0].State)
	}
	if err := errors.Join(c.Submit(job("j1", 1, 100), 0), c.Start(t.Context(), "j1", []string{"n1"}), c.Close()); err != nil {
		t.Fatal(err)
	}
	again := NewCluster([]Node{node("n1", 2)}, time.Now)
	n, err := again.Journal(path)
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	defer again.Close()
	if jobs, _ := again.Jobs(t.Context()); jobs[0].State != maui.JobIdle || jobs[1].State != maui.JobRunning {
		t.Error(jobs)
	}
}
