package main_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// takes has a user take up all that a system has with each of some jobs, which he does not start.
func (w *woods) takes(u *world, keys ...string) {
	w.t.Helper()
	var jobs []map[string]any
	for _, key := range keys {
		jobs = append(jobs, map[string]any{"key": key, "need": map[string]int{"cpus": 2}})
	}
	if code, said := w.ask(u, "/v1/jobs", map[string]any{"jobs": jobs}); code != 200 {
		w.t.Fatal(code, said)
	}
	for _, key := range keys {
		w.becomes(u, "/v1/jobs/claim", key, "claimed")
	}
}

// leaves has a user end a job, and tells how long it takes until the job of another has its place, and that is claimed.
func (w *woods) leaves(u *world, key string, other *world, next string) time.Duration {
	w.t.Helper()
	if state, _ := w.said(other, "/v1/jobs/status", next); state != "waits" {
		w.t.Errorf("before there is room the job is %s", state)
	}
	began := time.Now()
	if code, said := w.ask(u, "/v1/jobs/end", map[string][]string{"keys": {key}}); code != 200 {
		w.t.Fatal(code, said)
	}
	for time.Since(began) < time.Minute {
		if state, _ := w.said(other, "/v1/jobs/status", next); state == "claimed" || state == "ended" {
			return time.Since(began)
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Fatal("no place was claimed within a minute")
	return 0
}

// Who follows or watches a job that has waited for a while claims its place as soon as it has one, though the next look is many
// seconds away; and a desk that is told to end does so while they wait for its news.
func TestPlacesAreClaimedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWoods(t, "60s")
	bob := w.user("bob")
	w.answers(bob)
	w.takes(bob, "b0")
	for i, verb := range [][]string{{"follow", "--metrics", ""}, {"watch"}} {
		w.takes(bob, fmt.Sprint("b", i+1))
		alice := w.user(fmt.Sprint("alice", i))
		w.answers(alice)
		if _, msg, code := alice.try("submit", "--via", w.desk, alice.jobs(1, "sleep 0")[0]); code != 0 {
			t.Fatal(msg)
		}
		key := alice.status()[0].ID
		cmd := alice.command(verb...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
		}()
		time.Sleep(20 * time.Second)                                                     // its looks are far between by now
		if took := w.leaves(bob, fmt.Sprint("b", i), alice, key); took > 3*time.Second { // on a machine with much else to do
			t.Errorf("grid %s: a place was claimed %v after the room was there", verb[0], took)
		} else {
			t.Logf("grid %s: %v", verb[0], took)
		}
	}
	began := time.Now()
	_ = w.procs[0].Process.Signal(syscall.SIGTERM)
	if err := w.procs[0].Wait(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("the desk ends after %v: %v", time.Since(began), err)
	}
}
