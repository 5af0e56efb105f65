package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A real A-REX that is frozen in the middle of a submission in bulk, and goes
// on when the user has long given up: what it took then is found, and there is
// nothing twice.
func frozenARC(t *testing.T, url string) {
	pids := serverPids(t, filepath.Join(testbed.Dir(), "arc", "ce", breakable, "run"))
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			if err := syscall.Kill(pid, s); err != nil {
				t.Errorf("pid %d: %v", pid, err)
			}
		}
	}
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	var all broken
	for _, after := range []time.Duration{100, 300, 800, 2000} {
		w := newWorld(t)
		cmd := w.command(append([]string{"submit", "--no-cache", "--info", url}, w.jobs(20, "sleep 600")...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		signal(syscall.SIGSTOP)
		time.Sleep(5 * time.Second)
		_ = cmd.Process.Signal(syscall.SIGTERM) // the user has had enough
		began := time.Now()
		err := cmd.Wait()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("frozen after %v: it took %v to end", after*time.Millisecond, took)
		}
		signal(syscall.SIGCONT)
		all.add(w, "frozen after %v (%v)", after*time.Millisecond, err)
	}
	all.agree(url)
}

// serverPids are the processes of an A-REX, by the files it leaves.
func serverPids(t *testing.T, dir string) (pids []int) {
	t.Helper()
	for _, name := range []string{"arex.pid", "arex-ws.pid"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("%s is not to be had: %v", name, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
