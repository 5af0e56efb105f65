package batch

import (
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestSlurmJoined: two partitions without common nodes are planned by themselves until a
// job comes for the nodes of both: the places that had been left for later in either are
// made before. Held against a machine that remembers nothing.
func TestSlurmJoined(t *testing.T) {
	testbed.Computes(t)
	for seed := range testbed.Seeds(10, 60) {
		rng := rand.New(rand.NewPCG(seed, 71))
		s := crowdedState(rng, 20+rng.IntN(20), 200)
		apart(&s)
		s.Reservations = nil
		long := s.Jobs[0].Requested
		for i := range s.Jobs {
			if j := &s.Jobs[i]; j.Started.IsZero() && rng.IntN(40) == 0 {
				j.Also, j.Features, j.GPUs, j.Begin = []string{"a", "b"}, nil, 0, s.Now.Add(time.Duration(1+rng.Int64N(int64(2*long))))
			}
		}
		p := Policy{Name: "slurm", Slurm: Slurm{fine: true}}
		got, want := scheduled(t, s, p, halves{}, false), scheduled(t, s, p, halves{}, true)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("seed %d: line %d is %s, want %s", seed, i, got[i], want[i])
			}
		}
	}
}
