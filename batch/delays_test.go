package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestDelays: a job waits until twenty minutes after another has started, or ended: one
// that runs since five minutes, and one that starts in an hour.
func TestDelays(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	wait := func(id, other string, on batch.Trigger) batch.Job {
		return batch.Job{ID: id, Procs: 1, Requested: time.Minute, Submitted: now, After: []batch.Dependency{{ID: other, On: on, Delay: 20 * time.Minute}}}
	}
	jobs := []batch.Job{
		{ID: "2", Procs: 4, Requested: 30 * time.Minute, Submitted: now.Add(-time.Minute)},
		wait("3", "1", batch.OnStart), wait("4", "1", batch.OnEnd), wait("5", "2", batch.OnStart),
	}
	s := batch.State{
		Now: now, Nodes: []batch.Node{{Name: "a", CPUs: 4, Up: true}, {Name: "b", CPUs: 2, Up: true, Queues: []string{"q"}}}, Queues: []batch.Queue{{Name: "p"}, {Name: "q"}},
		Jobs: append([]batch.Job{{ID: "1", Queue: "p", Procs: 4, Requested: 65 * time.Minute, Started: now.Add(-5 * time.Minute), Placed: []batch.Placement{{Node: "a", Procs: 4}}}}, jobs...),
	}
	for i := range s.Jobs {
		if s.Jobs[i].Queue = "q"; i < 2 {
			s.Jobs[i].Queue = "p"
		}
	}
	for _, policy := range []string{"fcfs", "easy", "conservative", "maui", "slurm"} {
		f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := story(now, jobs, out), "2 1h0m0s a, 3 15m0s b, 4 1h20m0s b, 5 1h20m0s b"; got != want {
			t.Errorf("%s: got %s, want %s", policy, got, want)
		}
	}
}
