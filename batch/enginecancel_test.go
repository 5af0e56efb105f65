package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestEngineCancels: of a job that is cancelled, while it runs or before, those start that wait for its end or its
// start; who waits for its success never does, as Slurm says of afterok, also when another job has taken its place.
func TestEngineCancels(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	after := func(id, of string, on batch.Trigger) batch.Job {
		return batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, After: []batch.Dependency{{ID: of, On: on}}}
	}
	for _, policy := range []string{"slurm", "easy", "conservative"} {
		for _, cancelled := range []string{"runs", "waits", "behind"} {
			s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Jobs: []batch.Job{
				{ID: "runs", Procs: 4, Requested: 2 * time.Hour, Started: now, Placed: []batch.Placement{{Node: "n", Procs: 4}}},
				{ID: "waits", Procs: 4, Requested: time.Hour, Submitted: now}, after("behind", "waits", batch.OnEnd),
				after("ok", cancelled, batch.OnSuccess), after("any", cancelled, batch.OnEnd), after("start", cancelled, batch.OnStart),
			}}
			e, err := batch.NewEngine(s, batch.Policy{Name: policy})
			if err != nil {
				t.Fatal(err)
			}
			started := map[string]bool{}
			e.Observe(func(v batch.Event) { started[v.Job.ID] = started[v.Job.ID] || v.Kind == batch.Started })
			if err := e.Cancel(cancelled, now.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if err := e.Submit(batch.Job{ID: "new", Procs: 1, Requested: time.Hour, Submitted: now.Add(time.Minute)}, time.Hour); err != nil {
				t.Fatal(err)
			}
			for e.Step() {
			}
			if started["ok"] || !started["any"] || !started["start"] || !started["new"] || e.Waiting() != 1 {
				t.Errorf("%s, %s is cancelled: %s start, %d wait", policy, cancelled, fmt.Sprint(started), e.Waiting())
			}
		}
	}
}
