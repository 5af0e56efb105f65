package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// breakable is the CE that only TestBrokenARC uses.
const breakable = "arex7"

// A real A-REX that freezes, that is killed and that is full: what it took is
// found, and there is nothing twice. It has a CE of its own, which it starts,
// as no other test may meet one that is broken. It takes longest: of tests that run
// beside each other those of the last file begin first.
func TestBrokenARC(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to break a server")
	}
	url := testbed.NeedARC(t).Break
	startARC(t)
	t.Cleanup(func() {
		if out, err := exec.Command("../../testdata/testbed/arc/down.sh", breakable).CombinedOutput(); err != nil {
			t.Errorf("A-REX does not end: %v: %s", err, out)
		}
	})
	t.Run("killed", func(t *testing.T) { killedARC(t, url) })
	t.Run("frozen", func(t *testing.T) { frozenARC(t, url) })
	t.Run("full", func(t *testing.T) { fullARC(t, url) })
}

// A real A-REX is killed in the middle of a submission in bulk and started
// again: what it had taken is found, and there is nothing twice. It is looked
// for after the last of the kills, as until a request can no longer arrive half
// a minute has to pass after each.
func killedARC(t *testing.T, url string) {
	t.Cleanup(func() {
		if t.Failed() { // perhaps between a kill and the start
			startARC(t)
		}
	})
	var all broken
	session := filepath.Join(testbed.Dir(), "arc", "ce", breakable, "session")
	for _, taken := range []int{1, 5, 12} {
		w := newWorld(t)
		before := entries(t, session)
		var said bytes.Buffer
		cmd := w.command(append([]string{"submit", "--no-cache", "--info", url}, w.jobs(20, "sleep 600")...)...)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); entries(t, session)-before < taken; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the CE does not take %d jobs", taken)
			}
		}
		for _, pid := range serverPids(t, filepath.Join(testbed.Dir(), "arc", "ce", breakable, "run")) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * time.Second)
		startARC(t)
		err := cmd.Wait()
		all.add(w, "killed after %d jobs (%v, %s)", taken, err, said.String())
	}
	all.agree(url)
}

// broken are the users in the midst of whose submissions a CE was broken, each
// with how.
type broken []func(url string)

func (b *broken) add(w *world, how string, args ...any) {
	*b = append(*b, func(url string) { w.agrees(url, fmt.Sprintf(how, args...)) })
}

// agree compares the records of each of them with what the CE has.
func (b broken) agree(url string) {
	for _, agrees := range b {
		agrees(url)
	}
}

// agrees compares the records with what the CE has after something was broken.
func (w *world) agrees(url, broken string) {
	w.t.Helper()
	recorded := map[string]jobLine{}
	for _, j := range w.settle("submitting") {
		recorded[j.ID] = j
	}
	has, accepted := w.names(url), 0
	for id, j := range recorded {
		if has[id] > 1 || strings.Contains("accepted preparing queued running", j.State) != (has[id] == 1) {
			w.t.Errorf("%s: job %s is %s and is there %d times", broken, id, j.State, has[id])
		}
		accepted += has[id]
	}
	w.t.Logf("%s: %d recorded, %d at the CE", broken, len(recorded), accepted)
}

// entries counts what is in a directory.
func entries(t *testing.T, dir string) int {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}

// startARC starts the CE where it is not up.
func startARC(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("../../testdata/testbed/arc/up.sh", breakable).CombinedOutput(); err != nil {
		t.Fatalf("A-REX does not come up: %v: %s", err, out)
	}
}

// The disk of a real A-REX is full: no job starts with half its input, each is
// told about, and when there is room again they are sent again and run.
func fullARC(t *testing.T, url string) {
	session, err := filepath.EvalSymlinks(filepath.Join(testbed.Dir(), "arc", "ce", breakable, "session"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", session, "tmpfs", 0, "size=512k,mode=755"); err != nil {
		t.Skipf("no small disk can be mounted: %v", err)
	}
	full := true
	t.Cleanup(func() {
		if full {
			_ = syscall.Unmount(session, syscall.MNT_DETACH)
		}
	})
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.dir, "big"), bytes.Repeat([]byte("0123456789abcdef"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(w.dir, "full.jdl")
	text := `Executable = "/bin/sh"; Arguments = "-c 'wc -c < big'"; StdOutput = "out"; InputSandbox = "big"; OutputSandbox = "out"; RetryCount = 0; ShallowRetryCount = 0;`
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, code := w.try("submit", "--no-cache", "--info", url, job, job, job)
	t.Logf("full: exit code %d: %s%s", code, out, said)
	if code == 0 {
		t.Error("submitting to a full disk succeeded")
	}
	for _, j := range w.settle("submitting") {
		if j.State != "failed" && j.State != "intended" {
			t.Errorf("full: job %s is %s", j.ID, j.State)
		}
	}
	if err := syscall.Unmount(session, syscall.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	full = false
	if _, said, _ = w.try("resubmit", "--all", "--no-cache", "--info", url); !strings.Contains(said, "--same") {
		t.Errorf("nothing tells how to go on: %s", said)
	}
	out, said, code = w.try("resubmit", "--all", "--same", "--wait", "--no-cache", "--info", url)
	t.Logf("room again: exit code %d: %s%s", code, out, said)
	for _, j := range w.settle("submitting") {
		if j.State != "done" {
			t.Errorf("room again: job %s is %s", j.ID, j.State)
		}
	}
}
