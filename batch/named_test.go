package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestNamedNodes: jobs run on nodes that they name and on none that they do not want, and
// of features that "|" parts one will do; one that no node serves is refused.
func TestNamedNodes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now}
	for i, features := range [][]string{{"a"}, {"b"}, {"c"}} {
		name := fmt.Sprint("n", i+1)
		s.Nodes = append(s.Nodes, batch.Node{Name: name, CPUs: 4, Features: features, Up: true})
		s.Jobs = append(s.Jobs, batch.Job{ID: "on " + name, Procs: 4, Requested: time.Duration(i+1) * time.Hour, Submitted: now, Started: now,
			Placed: []batch.Placement{{Node: name, Procs: 4}}})
	}
	waits := []batch.Job{
		{ID: "on n3", Within: []string{"n3"}},
		{ID: "not on n1", Without: []string{"n1"}},
		{ID: "b or c", Features: []string{"b|c"}},
		{ID: "a or b, not b", Features: []string{"a|b"}, Without: []string{"n2"}},
		{ID: "nowhere", Within: []string{"n1"}, Without: []string{"n1"}},
	}
	for _, j := range waits {
		j.ID, j.Procs, j.Requested, j.Submitted = "wants "+j.ID, 1, time.Hour, now
		s.Jobs = append(s.Jobs, j)
	}
	for _, policy := range []string{"easy", "conservative", "slurm", "maui"} {
		out, err := (&batch.Forecaster{Policy: batch.Policy{Name: policy}}).Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"wants on n3": "3h0m0s n3", "wants not on n1": "2h0m0s n2", "wants b or c": "2h0m0s n2", "wants a or b, not b": "1h0m0s n1"}
		for _, j := range out.Jobs {
			if got := fmt.Sprint(j.Start.Sub(now), " ", j.Placed[0].Node); want[j.ID] != "" && got != want[j.ID] {
				t.Errorf("%s: %s: %s, want %s", policy, j.ID, got, want[j.ID])
			}
		}
		if len(out.Refused) != 1 || out.Refused[0].ID != "wants nowhere" {
			t.Errorf("%s: refused %+v", policy, out.Refused)
		}
		for _, j := range s.Jobs[3:5] { // where nobody else asks for more than processors, too
			alone := s
			alone.Jobs = append(slices.Clone(s.Jobs[:3]), j)
			out, err := (&batch.Forecaster{Policy: batch.Policy{Name: policy}}).Forecast(alone)
			if err != nil {
				t.Fatal(err)
			}
			if got := story(now, alone.Jobs[3:], out); got != j.ID+" "+want[j.ID] {
				t.Errorf("%s: alone: %s, want %s", policy, got, want[j.ID])
			}
		}
	}
}

// TestWishesChange: what a waiting job asks for may be changed between two pictures. Of three
// nodes the first comes free in one hour, the second in two, the third in three.
func TestWishesChange(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now}
	for i, name := range []string{"n1", "n2", "n3"} {
		s.Nodes = append(s.Nodes, batch.Node{Name: name, CPUs: 4, Memory: int64(i+1) * 4000, Disk: int64(i) * 100, GPUs: i, Features: []string{name}, Up: true})
		s.Jobs = append(s.Jobs, batch.Job{ID: "on " + name, Procs: 3, Requested: time.Duration(i+1) * time.Hour, Submitted: now, Started: now,
			Placed: []batch.Placement{{Node: name, Procs: 3}}})
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "1", Procs: 2, Nodes: 1, Requested: time.Hour, Submitted: now})
	for name, c := range map[string]struct {
		change func(*batch.Job)
		want   string
	}{
		"within": {func(j *batch.Job) { j.Within = []string{"n3"} }, "1 3h0m0s n3"}, "without": {func(j *batch.Job) { j.Without = []string{"n1"} }, "1 2h0m0s n2"},
		"features": {func(j *batch.Job) { j.Features = []string{"n2"} }, "1 2h0m0s n2"}, "each": {func(j *batch.Job) { j.Procs, j.Nodes, j.Each = 6, 2, 3 }, "1 2h0m0s n1 n2"},
		"each alone": {func(j *batch.Job) { j.Each = 5 }, "1 refused: no nodes that are up have what it asks for"},
		"nodes":      {func(j *batch.Job) { j.Nodes = 2 }, "1 0s n1 n2"}, "memory": {func(j *batch.Job) { j.Memory = 4000 }, "1 2h0m0s n2"},
		"gpus": {func(j *batch.Job) { j.GPUs = 2 }, "1 3h0m0s n3"}, "disk": {func(j *batch.Job) { j.Disk = 101 }, "1 3h0m0s n3"},
		"exclusive": {func(j *batch.Job) { j.Procs, j.Exclusive = 1, true }, "1 1h0m0s n1"}, "begin": {func(j *batch.Job) { j.Begin = now.Add(90 * time.Minute) }, "1 1h30m0s n1"},
		"after": {func(j *batch.Job) { j.After = []batch.Dependency{{ID: "on n2", On: batch.OnEnd, Delay: time.Minute}} }, "1 2h1m0s n1"},
		"held":  {func(j *batch.Job) { j.Held = true }, "1 refused: held"},
	} {
		for _, policy := range []string{"easy", "conservative", "slurm"} {
			f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
			live, err := f.Live(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(live.Starts(0)[0].Start.Sub(now)); got != "1h0m0s" {
				t.Fatalf("%s, %s: starts in %s before", name, policy, got)
			}
			next := s
			next.Jobs = slices.Clone(s.Jobs)
			c.change(&next.Jobs[3])
			if _, err := live.Sync(next); err != nil {
				t.Fatal(err)
			}
			out := &batch.Forecast{Jobs: live.Starts(0), Refused: live.Refused()}
			if got := story(now, next.Jobs[3:], out); got != c.want {
				t.Errorf("%s, %s: %s, want %s", name, policy, got, c.want)
			}
		}
	}
}
