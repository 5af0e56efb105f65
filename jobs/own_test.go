package jobs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestCopiedRecords: in a copy of the records, however it was made, nothing that had not been sent goes
// by itself, nothing is tried again, taken back, or cancelled because it turns up late; those that were
// copied, and records that were moved, go on as they were.
func TestCopiedRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s := openStore(t, dir)
	rs := records("intended", "submitting", "queued", "failed", "done")
	for i, state := range []plugins.State{plugins.Intended, plugins.Submitting, plugins.Queued, plugins.Failed, plugins.Done} {
		rs[i].State = state
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), rs[2:3], func(r *jobs.Record) (jobs.Change, error) {
		r.Past = []jobs.Past{{Number: 1, State: plugins.Submitting, Until: start.Add(time.Hour)}}
		return jobs.Change{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, how := range [][]string{{"cp", "-r"}, {"cp", "-a"}, {"mv"}} {
		copied := filepath.Join(t.TempDir(), "b")
		if out, err := exec.Command(how[0], append(how[1:], dir, copied)...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if how[0] == "mv" {
			checkStates(t, copied, "intended:false submitting:false queued:false failed:false done:false", 1)
			continue
		}
		for range 2 { // the second time they are its own
			checkStates(t, copied, "failed:true submitting:true queued:true failed:true done:false", 0)
		}
		c := openStore(t, copied)
		if err := c.Add(t.Context(), records("own")); err != nil {
			t.Fatal(err)
		}
		c.Close()
		checkStates(t, copied, "failed:true submitting:true queued:true failed:true done:false intended:false", 0)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Fatal(err)
		}
		checkStates(t, dir, "intended:false submitting:false queued:false failed:false done:false", 1)
	}
}

// checkStates holds the state and NoRetry of each record, and how many attempts are looked up.
func checkStates(t *testing.T, dir, want string, loose int) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	var got []string
	rs, err := s.Select(t.Context(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*jobs.Record{}
	for _, r := range rs {
		by[r.ID] = r
	}
	for _, id := range []string{"intended", "submitting", "queued", "failed", "done", "own"} {
		if r := by[id]; r != nil {
			got = append(got, fmt.Sprintf("%s:%v", r.State, r.NoRetry))
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%s: %q, want %q", dir, got, want)
	}
	if rs, err := s.Select(t.Context(), jobs.Query{Loose: start}); err != nil || len(rs) != loose {
		t.Errorf("%s: %d attempts may turn up, %v", dir, len(rs), err)
	}
}

// TestNotFoundInACopy: a job that was being sent when its record was copied, and has not arrived, may have been
// sent again by the records it was copied from.
func TestNotFoundInACopy(t *testing.T) {
	for _, copied := range []bool{false, true} {
		r := records("a")[0]
		r.State, r.Attempts, r.NoRetry = plugins.Submitting, 1, copied
		r.Uncertain, r.Since = start, clock.Reading{}
		asked := clock.Read(clock.Wall{})
		if _, err := r.Apply(jobs.NotFound{Asked: asked, Settle: 0}, start); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Apply(jobs.NotFound{Asked: asked, Settle: 0}, start); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]plugins.State{false: plugins.Intended, true: plugins.Failed}[copied]; r.State != want {
			t.Errorf("copied %v: %s", copied, r.State)
		}
	}
}
