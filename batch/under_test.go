package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// What a Live has seen end is gone for questions that set the cluster up anew, too: under
// another policy, and for a job with limits.
func TestEndedJobsAreGoneFromQuestions(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1_000_000+s), 0).UTC() }
	state := func(now int, jobs ...batch.Job) batch.State {
		return batch.State{Now: at(now), Jobs: jobs, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}},
			Queues: []batch.Queue{{Name: "q", MaxWallTime: 8760 * time.Hour}}}
	}
	job := func(id string) batch.Job {
		return batch.Job{ID: id, Queue: "q", Procs: 4, Requested: 10 * time.Minute, Submitted: at(0)}
	}
	live, err := (&batch.Forecaster{Policy: batch.Policy{Name: "easy"}}).Live(state(0, job("a")))
	if err != nil {
		t.Fatal(err)
	}
	started := job("a")
	started.Started = at(1)
	for _, s := range []batch.State{state(2, started), state(60, job("b")), state(61)} {
		if _, err := live.Sync(s); err != nil {
			t.Fatal(err)
		}
	}
	f := live.Fork()()
	other, err := f.Under(batch.Policy{Name: "fcfs"})
	if err != nil {
		t.Fatal(err)
	}
	limited := job("c")
	limited.Array, limited.ArrayLimit = "c", 1
	for name, asked := range map[string]struct {
		of *batch.Forecast
		j  batch.Job
	}{"another policy": {other, job("c")}, "the same": {f, job("c")}, "a task of an array with a limit": {f, limited}} {
		if e, why := asked.of.Ask(asked.j, 0); why.Cause != "" || !e.Start.Equal(at(61)) {
			t.Errorf("%s: it starts at %v, %v; want %v", name, e.Start, why, at(61))
		}
	}
}
