package batch_test

import (
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// A job that is said to wait though it is too late for its deadline stands in no line; it may have started all the same, which the next picture
// says: a Live goes on then, under every policy.
func TestStuckJobStarts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Queues: []batch.Queue{{Name: "p1"}, {Name: "p2"}},
		Nodes: []batch.Node{{Name: "n", CPUs: 1, Up: true, Queues: []string{"p1"}}, {Name: "m", CPUs: 1, Up: true, Queues: []string{"p2"}}},
		Jobs: []batch.Job{{ID: "waits", Queue: "p1", Procs: 1, Requested: time.Hour, Submitted: now},
			{ID: "late", Queue: "p2", Procs: 1, Requested: time.Hour, Submitted: now.Add(-time.Hour), Deadline: now.Add(50 * time.Minute)}}}
	for _, p := range scenePolicies() {
		f := batch.Forecaster{Policy: p, Belief: batch.NewLastTwo()}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		live.Starts(0)
		if err := live.Start("late", now.Add(-10*time.Minute), []batch.Placement{{Node: "m", Procs: 1}}); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if got := live.Starts(0); len(got) != 1 || got[0].ID != "waits" {
			t.Errorf("%s: %v", p.Name, got)
		}
	}
}

// TestDelaysAfterStuckJobs: who waits for some time after a job that is too late for its deadline, or that waits for what will not
// come, waits from when that one is cancelled: a Live that still sees it there foretells what a forecast of the same picture does.
func TestDelaysAfterStuckJobs(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	kills := batch.Policy{Name: "slurm", Slurm: batch.Slurm{KillInvalid: true}}
	job := batch.Job{Procs: 1, Requested: time.Hour, Submitted: now.Add(-time.Hour)}
	late, never, after := job, job, job
	late.ID, late.Deadline = "stuck", now.Add(50*time.Minute)
	never.ID, never.After = "stuck", []batch.Dependency{{ID: "gone", On: batch.Never}}
	after.ID, after.After = "after", []batch.Dependency{{ID: "stuck", On: batch.OnEnd, Delay: 20 * time.Minute}}
	for _, p := range append(scenePolicies(), kills) {
		for _, stuck := range []batch.Job{late, never} {
			s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 1, Up: true}}, Jobs: []batch.Job{stuck, after}}
			f := batch.Forecaster{Policy: p, Belief: batch.NewLastTwo()}
			live, err := f.Live(s)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				live.Starts(0)
				s.Now = s.Now.Add(5 * time.Minute)
				if _, err := live.Sync(s); err != nil {
					t.Fatal(err)
				}
				want, err := f.Forecast(s)
				if err != nil {
					t.Fatal(err)
				}
				if got := live.Starts(0); !slices.EqualFunc(got, want.Jobs, func(a, b batch.Expected) bool { return a.ID == b.ID && a.Start.Equal(b.Start) }) {
					t.Errorf("%s at %s: %v, want %v", p.Name, s.Now, got, want.Jobs)
				}
			}
		}
	}
}
