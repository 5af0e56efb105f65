package batch_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// What a Live was shown before is the model's where that was set up anew by it: the next picture, which
// has the same jobs in another order, does not change it. A state in the room of an older one is the
// same as one of its own.
func TestPicturesDoNotRunTogether(t *testing.T) {
	start := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	s := batch.State{Cluster: "c", Now: start, Nodes: []batch.Node{{Name: "n1", CPUs: 8, Up: true}, {Name: "n2", CPUs: 8, Up: true}}}
	live, err := (&batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: batch.Estimate{}}).Live(s)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(id, node string) batch.Job {
		return batch.Job{ID: id, User: "u", Procs: 2, Requested: time.Hour, Submitted: start, Started: start,
			Placed: []batch.Placement{{Node: node, Procs: 2}}}
	}
	var room []batch.Job
	for i, jobs := range [][]batch.Job{
		{runs("a", "n1"), runs("b", "n2"), runs("c", "n1")}, // of jobs that run already the model is set up anew
		{runs("c", "n1"), runs("a", "n1"), runs("b", "n2")},
		{runs("b", "n2"), runs("c", "n1"), runs("a", "n1")},
		{runs("b", "n2"), runs("d", "n1"), runs("a", "n1")},
		{runs("a", "n1"), runs("d", "n1"), runs("b", "n2")},
	} {
		s.Now, s.Jobs = s.Now.Add(time.Minute), jobs
		shown := slices.Clone(jobs)
		did, err := live.Sync(s)
		if err != nil {
			t.Fatal(err)
		}
		if news := i == 0 || i == 3; news == (did == batch.Synced{}) {
			t.Errorf("picture %d is news: %+v", i, did)
		}
		if !reflect.DeepEqual(jobs, shown) {
			t.Errorf("picture %d was changed", i)
		}
		own := live.State()
		got := live.StateIn(room)
		room = got.Jobs
		if !reflect.DeepEqual(got, own) {
			t.Errorf("picture %d: in the room of another state it is %v, want %v", i, got.Jobs, own.Jobs)
		}
		byID := func(a, b batch.Job) int { return int(a.ID[0]) - int(b.ID[0]) }
		slices.SortFunc(own.Jobs, byID)
		slices.SortFunc(shown, byID)
		if !reflect.DeepEqual(own.Jobs, shown) {
			t.Errorf("picture %d: the model has %v, want %v", i, own.Jobs, shown)
		}
	}
}
