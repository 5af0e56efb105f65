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

// TestNamesOfTheKilledThatOthersTake: in a directory that others write to, what bears the name of a killed process's copy and
// is not the user's own stays, for root too.
func TestNamesOfTheKilledThatOthersTake(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to give files away takes root")
	}
	for _, name := range []string{"plain", "a[b]*"} {
		t.Run(name, func(t *testing.T) {
			temp := filepath.Join(t.TempDir(), name)
			plantCopies(t, temp)
			t.Setenv("TMPDIR", temp)
			dir := filepath.Join(t.TempDir(), "state")
			s, err := jobs.OpenStore(dir, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c, err := jobs.OpenCopy(dir, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			for name, stays := range map[string]bool{"theirs": true, "link": true, "pipe": true, "ours": false} {
				if _, err := os.Lstat(filepath.Join(temp, "grid-records-4194303-"+name)); (err == nil) != stays {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// plantCopies makes a directory with things that bear the names of copies, most of them another user's.
func plantCopies(t *testing.T, dir string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, "grid-records-4194303-"+name) }
	for _, err := range []error{os.MkdirAll(at("theirs"), 0o700), os.Mkdir(at("ours"), 0o700), os.Symlink(t.TempDir(), at("link")), syscall.Mkfifo(at("pipe"), 0o600),
		os.Chown(at("theirs"), 4711, -1), os.Lchown(at("link"), 4711, -1), os.Chown(at("pipe"), 4711, -1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
