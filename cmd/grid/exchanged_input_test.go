package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInputThatWasExchanged: an input file that has become a pipe, a device or a directory since its job was sent is named
// when the job is sent again: nobody waits, and no disk is filled.
func TestInputThatWasExchanged(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.write("in", "text")
			v.write("job.jdl", `Executable = "/bin/cat"; Arguments = "in"; InputSandbox = {"in"};`)
			h := v.grid(0, "submit", "--wait", "--info", "local:", "job.jdl")
			id, _, _ := strings.Cut(h.out, " ")
			if h.code != 0 || id == "" {
				t.Fatalf("exit code %d: %s", h.code, h.errs)
			}
			path := filepath.Join(v.dir, "in")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := exchange(path); err != nil {
				t.Fatal(err)
			}
			h = v.grid(0, "resubmit", "--force", "--same", "--info", "local:", strings.TrimSpace(id))
			h.errs += h.out // its remarks are in its cells
			v.bounded(h, path+" is no regular file any more")
			if h.code == 0 || h.took > time.Minute {
				t.Errorf("exit code %d after %v", h.code, h.took)
			}
		})
	}
}
