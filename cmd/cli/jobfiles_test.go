package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamedPipe opens a pipe that has a writer, and one that has none.
func TestNamedPipe(t *testing.T) {
	idle, path := filepath.Join(t.TempDir(), "idle.jdl"), filepath.Join(t.TempDir(), "job.jdl")
	for _, p := range []string{idle, path} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Skip(err)
		}
	}
	if _, err := openWithin(idle, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "nothing wrote to it for 20ms") {
		t.Errorf("no writer: %v", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- os.WriteFile(path, []byte("Executable"), 0) }()
	f, err := openWithin(path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		t.Errorf("read %q: %v", text, err)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}
