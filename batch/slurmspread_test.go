package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSlurmSpread: in a partition with LLN jobs get the nodes with the most room, so that one which wants a node for itself waits for all of
// them, as on a real 22.05, where these seven jobs started 0, 0, 60, 60, 60, 60 and 180 s from the first, the small ones in turn on both nodes. Else they are
// packed, and it starts with them. A node of less weight goes first all the same.
func TestSlurmSpread(t *testing.T) {
	now := time.Unix(1796076342, 0)
	for _, c := range []struct {
		spread bool
		weight int // of the second node
		want   string
	}{
		{true, 1, "3 n1 60, 4 n2 60, 5 n1 60, 6 n2 60, 7 n1 180"},
		{false, 1, "3 n1 60, 4 n1 60, 5 n1 60, 6 n1 60, 7 n2 60"},
		{true, 2, "3 n1 60, 4 n1 60, 5 n1 60, 6 n1 60, 7 n2 60"},
	} {
		s := batch.State{Now: now, Queues: []batch.Queue{{Name: "lln", Spread: c.spread}},
			Nodes: []batch.Node{{Name: "n1", CPUs: 8, Up: true, Weight: 1}, {Name: "n2", CPUs: 8, Up: true, Weight: c.weight}}}
		add := func(id string, minutes int, whole bool) *batch.Job {
			j := batch.Job{ID: id, Queue: "lln", Procs: 1, Nodes: 1, Requested: time.Duration(minutes) * time.Minute, Submitted: now, Exclusive: whole}
			s.Jobs = append(s.Jobs, j)
			return &s.Jobs[len(s.Jobs)-1]
		}
		for i, node := range []string{"n1", "n2"} {
			j := add(fmt.Sprint(1+i), 1, true)
			j.Started, j.Placed = now, []batch.Placement{{Node: node, Procs: 8}}
		}
		for i := range 4 {
			add(fmt.Sprint(3+i), 2, false)
		}
		add("7", 1, true)
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3 * time.Second}}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range out.Jobs {
			got += fmt.Sprint(", ", e.ID, " ", e.Placed[0].Node, " ", e.Start.Sub(now).Seconds())
		}
		if got = got[2:]; got != c.want {
			t.Errorf("LLN %v, weight %d: %s, want %s", c.spread, c.weight, got, c.want)
		}
	}
}
