package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// twinState is equal nodes that are full, and jobs that wait for the same ones with unlike
// memory, disk and GPUs; of each processor a node has so much memory, of which jobs
// ask for up to most.
func twinState(rng *rand.Rand, most int) State {
	s := State{Now: time.Unix(1_700_000_000, 0).UTC(), Cluster: "c"}
	for i := range 8 {
		s.Nodes = append(s.Nodes, Node{Name: fmt.Sprint("n", i), CPUs: 6, Memory: 6 * 4000, Disk: 1000, GPUs: 3, Up: true})
	}
	for i := range 16 + 110 {
		j := Job{
			ID: fmt.Sprint(i), User: "u", Procs: 3, Memory: int64(rng.IntN(most)), Requested: time.Duration(1+rng.IntN(40)) * time.Hour,
			Submitted: s.Now.Add(time.Duration(i-500) * time.Second),
		}
		if i < 16 {
			j.Started, j.Placed = s.Now.Add(-30*time.Minute), []Placement{{s.Nodes[i/2].Name, 3}}
		} else {
			j.Procs = 1 + rng.IntN(12)
			switch rng.IntN(4) {
			case 0:
				j.GPUs = 1 + rng.IntN(3)
			case 1:
				j.Disk = int64(1 + rng.IntN(1000))
			case 2:
				j.Exclusive = rng.IntN(3) == 0
			}
			if rng.IntN(10) == 0 {
				j.Deadline = s.Now.Add(time.Duration(60+rng.IntN(200)) * time.Hour)
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// TestTwins holds conservative backfill, where jobs end before their limits and what they
// ask of memory makes no difference, or does, against a machine that remembers nothing.
func TestTwins(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(8) {
		s := twinState(rand.New(rand.NewPCG(seed, 5)), []int{4000, 9000}[seed%2])
		p := Policy{Name: "conservative"}
		got, want := scheduled(t, s, p, halves{}, false), scheduled(t, s, p, halves{}, true)
		if len(got) != len(want) || len(got) < 100 {
			t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("seed %d: line %d is %s, want %s", seed, i, got[i], want[i])
			}
		}
	}
}
