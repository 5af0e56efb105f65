package testbed

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Home is a new directory that goes with the test, and with it the processes that were left
// there: the runner of local jobs goes on for a moment, and what it writes while a directory
// is being removed fails the test whose TempDir that is.
func Home(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		for range 500 { // ten seconds
			at := runAt(dir)
			for _, pid := range at {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if len(at) == 0 {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("processes do not end in %s: %v", dir, runAt(dir))
	})
	return dir
}

// runAt are the processes, but this one, that work in a directory or below, or were started to do
// something there, by their arguments.
func runAt(dir string) (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // none on systems that have no such files
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == os.Getpid() {
			continue
		}
		words, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		place, _ := os.Readlink(filepath.Join(entry, "cwd"))
		if len(words) > 0 && (bytes.Contains(words, []byte(dir+"/")) || strings.HasPrefix(place+"/", dir+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
