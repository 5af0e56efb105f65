package slurm

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// What nodes have given away beyond the jobs that are shown is held by jobs of
// nobody's, from when it was first seen, and only where the cluster hides jobs.
func TestHidden(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	nodes := []map[string]string{{"NodeName": "n1", "CPUAlloc": "6", "AllocMem": "1800", "GresUsed": "gpu:a:2(IDX:0,2),gpu:b:1(IDX:3)"}, {"NodeName": "n2", "CPUAlloc": "2"}, {"NodeName": "n3", "CPUAlloc": "0"}}
	state := func(at time.Time) batch.State {
		return batch.State{Now: at, Nodes: []batch.Node{{Name: "n1", CPUs: 8, Queues: []string{"p"}}, {Name: "n2", CPUs: 8}, {Name: "n3", CPUs: 8}},
			Jobs: []batch.Job{{ID: "1", Procs: 4, Memory: 100, GPUs: 1, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 2}, {Node: "n2", Procs: 2}}}}}
	}
	var h hidden
	s := state(now)
	if h.fill(&s, nodes); len(s.Jobs) != 1 {
		t.Errorf("where nothing is hidden: %+v", s.Jobs)
	}
	h.set(true)
	for i := range 3 {
		if i == 2 {
			nodes[0]["CPUAlloc"] = "2"
		}
		s := state(now.Add(time.Duration(i) * time.Minute))
		h.fill(&s, nodes)
		got := ""
		for _, j := range s.Jobs[1:] {
			got += fmt.Sprint(j.ID, " ", j.Queue, " ", j.Procs, " ", j.Placed, " ", j.Memory, " MB ", j.GPUs, " GPUs ", j.Started.Sub(now))
		}
		want := "hidden/n1 p 4 [{n1 4}] 400 MB 2 GPUs 0s"
		if i == 2 {
			want = ""
		}
		if got != want {
			t.Errorf("look %d: %q, want %q", i, got, want)
		}
	}
}
