package jobs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gridbroker/jobs"
)

// TestReadingWhereNothingCanBeWritten: records on a full or read-only disk can be
// read, from a copy that leaves nothing behind, and are not changed.
func TestReadingWhereNothingCanBeWritten(t *testing.T) {
	dir, temp := filepath.Join(t.TempDir(), "state"), t.TempDir()
	t.Setenv("TMPDIR", temp)
	s, err := jobs.OpenStore(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // open: what was written last is in the log beside the file
	if err := s.Add(t.Context(), []*jobs.Record{{ID: "1m81m5y0p029438", Name: "kept", State: "done", Created: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(temp, "grid-records-4194303-1")
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := jobs.OpenCopy(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := c.Select(context.Background(), jobs.Query{})
	if err != nil || len(rs) != 1 || rs[0].Name != "kept" {
		t.Fatalf("%d records, %v", len(rs), err)
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("the copy of a process that was killed is still there")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%d files are left behind", len(left))
	}
	if err := os.WriteFile(filepath.Join(temp, "jobs.db"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.OpenCopy(temp, time.Now); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("why a copy cannot be opened is not said: %v", err)
	}
	for err, want := range map[error]bool{syscall.EROFS: true, syscall.ENOSPC: true, errors.New("x"): false} {
		if got := jobs.Unwritable(&os.PathError{Op: "open", Path: "jobs.db", Err: err}); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}
