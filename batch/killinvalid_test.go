package batch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestKillInvalid: with kill_invalid_depend who waits for what will not come any more is cancelled in that second, and so is who waits
// for the success of that one; who waits for its end, its failure or its start starts. It is what 22.05 and 24.11 did with these jobs;
// without it all of these wait.
func TestKillInvalid(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for _, kill := range []bool{false, true} {
		p := batch.Policy{Name: "slurm", Slurm: batch.Slurm{KillInvalid: kill}}
		e, err := batch.NewEngine(batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 32, Up: true}, {Name: "m", CPUs: 32, Up: true}}}, p)
		if err != nil {
			t.Fatal(err)
		}
		var done []string
		e.Observe(func(v batch.Event) {
			if v.Kind == batch.Started || v.Kind == batch.Cancelled {
				done = append(done, strings.Join([]string{v.Job.ID, string(v.Kind), v.At.Sub(now).String()}, " "))
			}
		})
		for _, j := range []struct {
			id    string
			run   time.Duration
			after string
		}{
			{"x", 8 * time.Second, ""}, {"w", 30 * time.Second, ""}, {"a", 0, "success x"}, {"b", 0, "end a"}, {"c", 0, "failure a"}, {"d", 0, "success a"}, {"e", 0, "start a"},
			{"f", 0, "end d"}, {"g", 0, "start d"}, {"h", 0, "failure w"}, {"i", 0, "end h"}, {"both", 0, "success x, end w"},
		} {
			job := batch.Job{ID: j.id, Procs: 1, Requested: 10 * time.Minute, Submitted: now}
			for part := range strings.SplitSeq(j.after, ", ") {
				if on, id, ok := strings.Cut(part, " "); ok {
					job.After = append(job.After, batch.Dependency{ID: id, On: batch.Trigger(on)})
				}
			}
			if j.id == "g" {
				job.After[0].Delay = time.Minute
			}
			if err := e.Submit(job, j.run); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Cancel("x", now.Add(8*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := e.Advance(now.Add(9 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if e.Waiting()+e.Running() != len(e.State().Jobs) {
			t.Errorf("kill %v: %d run, %d wait, the state has %d", kill, e.Running(), e.Waiting(), len(e.State().Jobs))
		}
		ahead := outlookOf(t, e.State(), p)
		for e.Step() {
		}
		slices.Sort(done)
		want, later := "w started 0s, x cancelled 8s, x started 0s", "; a, b, both, c, d, e, f, g, h, i"
		if kill {
			want = "a cancelled 8s, b started 8s, both cancelled 8s, c started 8s, d cancelled 8s, e started 8s, f started 8s, g started 1m8s, h cancelled 30s, i started 30s, " + want
			later = "g i; h"
		}
		if got := strings.Join(done, ", "); got != want {
			t.Errorf("kill %v:\n%s, want\n%s", kill, got, want)
		}
		if ahead != later {
			t.Errorf("kill %v: a forecast has %s, want %s", kill, ahead, later)
		}
		if left := len(e.State().Jobs); kill && left+e.Waiting() != 0 {
			t.Errorf("%d jobs are left, %d wait", left, e.Waiting())
		}
	}
}

// outlookOf is which of the jobs that wait start by a forecast, and which are refused.
func outlookOf(t *testing.T, s batch.State, p batch.Policy) string {
	t.Helper()
	out, err := (&batch.Forecaster{Policy: p}).Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	var starts, refused []string
	for _, j := range out.Jobs {
		if j.Start.After(s.Now) {
			starts = append(starts, j.ID)
		}
	}
	for _, r := range out.Refused {
		refused = append(refused, r.ID)
	}
	slices.Sort(starts)
	slices.Sort(refused)
	return strings.Join(starts, " ") + "; " + strings.Join(refused, ", ")
}
