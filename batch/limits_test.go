package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestLimits: a queue that runs one job at a time, a queue of higher
// priority, and a reservation of the whole machine.
func TestLimits(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for _, byNode := range []bool{false, true} {
		s := batch.State{
			Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Memory: 1000, Up: true}},
			Queues: []batch.Queue{{Name: "one", MaxRunning: 1}, {Name: "high", Priority: 1}, {Name: "low"}},
			Jobs: []batch.Job{
				{ID: "a", Queue: "one", Procs: 1, Requested: time.Hour, Submitted: now.Add(-5 * time.Second)},
				{ID: "b", Queue: "one", Procs: 1, Requested: time.Hour, Submitted: now.Add(-4 * time.Second)},
				{ID: "c", Queue: "low", Procs: 3, Requested: time.Hour, Submitted: now.Add(-3 * time.Second)},
				{ID: "d", Queue: "high", Procs: 3, Requested: 90 * time.Minute, Submitted: now.Add(-2 * time.Second)},
			},
			Reservations: []batch.Reservation{{Name: "m", Procs: 4, Start: now.Add(100 * time.Minute), End: now.Add(200 * time.Minute)}},
		}
		if byNode {
			s.Jobs[0].Memory = 10
			s.Reservations[0].Nodes = []string{"n"}
		}
		for _, policy := range batch.PolicyNames() {
			f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, e := range out.Jobs {
				got[e.ID] = e.Start.Sub(now).String()
			}
			// d goes first; c and b do not fit before the reservation any more.
			// Slurm's place for b is of the whole node, of which b leaves room for c.
			if want := "map[a:0s b:3h20m0s c:3h20m0s d:0s]"; fmt.Sprint(got) != want {
				t.Errorf("%s, nodes %v: %v want %s", policy, byNode, got, want)
			}
		}
	}
}
