package batch_test

import (
	"fmt"
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
	}
}
