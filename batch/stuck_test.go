package batch_test

import (
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
