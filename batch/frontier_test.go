package batch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestFrontierMemory holds schedules on nodes that have memory enough for each of their
// processors, so that jobs which ask for more of it and for less share what is known of how
// early they can start, against those of machines which remember nothing: also where some
// come later that ask for more than that.
func TestFrontierMemory(t *testing.T) {
	testbed.Computes(t)
	compared := 0
	for seed := range uint64(12) {
		s := ampleState(rand.New(rand.NewPCG(seed, 23)))
		for _, p := range []Policy{{Name: "slurm", Slurm: Slurm{fine: true}}, {Name: "conservative"}, {Name: "easy"}, {Name: "maui", Maui: Maui{ReservationDepth: Unlimited}}} {
			got, want := scheduled(t, s, p, Estimate{}, false), scheduled(t, s, p, Estimate{}, true)
			if compared += len(want); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s: %s", seed, p.Name, unlike(got, want))
			}
		}
	}
	if compared < 3000 {
		t.Errorf("only %d lines compared", compared)
	}
}

// ampleState is a cluster on which jobs that ask for up to 1,000 MB for a processor wait,
// which every node has for each of its own, and some for more that may not begin yet.
func ampleState(rng *rand.Rand) State {
	s := crowdedState(rng, 8+rng.IntN(8), 90)
	s.Reservations = nil
	for i := range s.Nodes {
		s.Nodes[i].Memory = int64(s.Nodes[i].CPUs) * int64(1000+1000*rng.IntN(3))
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Memory = int64(rng.IntN(5)) * 250; !j.Started.IsZero() || rng.IntN(8) > 0 {
			continue
		}
		j.Memory, j.Procs, j.Nodes, j.Priority = 2500, 1, 0, float64(rng.IntN(2))
		j.Begin = s.Now.Add(time.Duration(1+rng.IntN(3600*6)) * time.Second)
	}
	return s
}

// TestFrontierHeavier: what is known of a job holds for one that asks for less memory, until
// there is a job with more than each node has for each of its processors.
func TestFrontierHeavier(t *testing.T) {
	need := func(id int, memory int64) *Need {
		return &Need{id: id, Memory: memory, on: []int32{0}, serve: []uint64{1}}
	}
	m := &Machine{plan: newNodePlan(0, []amounts{{memory: 4000, procs: 4}})}
	var queue waiting
	for i, memory := range []int64{1000, 500} {
		m.jobs = append(m.jobs, job{Task: Task{Need: need(i+1, memory)}, seq: int64(i), procs: 1, limit: 128, planned: 50})
		queue.insert(m.jobs[i].entry(int32(i)))
	}
	f := newFrontier(&queue, m)
	if f.learn(&m.jobs[0]); f.least(&m.jobs[1]) != 50 || f.strange {
		t.Errorf("a job with less memory may start at %d, want 50", f.least(&m.jobs[1]))
	}
	heavy := job{Task: Task{Need: need(3, 3000)}, seq: 9, procs: 1, limit: 128}
	m.plan.(*nodePlan).hold(&heavy, 0, 128, []share{{0, 1}})
	m.jobs[0].planned = 90
	if f.learn(&m.jobs[0]); f.least(&m.jobs[1]) != 0 || !f.strange {
		t.Errorf("beside a job with 3,000 MB one with less memory may start at %d, want 0", f.least(&m.jobs[1]))
	}
	if f = f.anew(&queue, m); f.ample {
		t.Error("4 processors of 3,000 MB fit in 4,000")
	}
	if f.learn(&m.jobs[0]); f.least(&m.jobs[1]) != 0 {
		t.Errorf("then one with less memory may start at %d, want 0", f.least(&m.jobs[1]))
	}
}
