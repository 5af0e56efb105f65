package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFileThatDoesNotOpen opens what is no pipe by its looks and waits all the same, as where a pipe was put in its place
// after the look: a file that somebody has on lease (fcntl(2)).
func TestFileThatDoesNotOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.jdl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip(err)
	}
	start := time.Now()
	if _, err := openWithin(path, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not open within 20ms") {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		t.Error(err)
	}
}
