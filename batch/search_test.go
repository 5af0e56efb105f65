package batch

import (
	"math/rand/v2"
	"testing"

	"gridbroker/testdata/testbed"
)

// bag is a packing of one kind of unit.
type bag struct {
	procs, values []int64
	free          int64
}

func (b *bag) size() int         { return len(b.procs) }
func (b *bag) worth(i int) int64 { return b.values[i] }
func (b *bag) put(i int) bool {
	if b.procs[i] > b.free {
		return false
	}
	b.free -= b.procs[i]
	return true
}
func (b *bag) drop(i int) { b.free += b.procs[i] }

// optimum is found by dynamic programming.
func (b *bag) optimum() int64 {
	most := make([]int64, b.free+1)
	for i := range b.procs {
		for f := b.free; f >= b.procs[i]; f-- {
			most[f] = max(most[f], most[f-b.procs[i]]+b.values[i])
		}
	}
	return most[b.free]
}

// TestSearches compares what the searches find with the optimum, for the sizes
// of backfill lists and the metric PROCSECONDS.
func TestSearches(t *testing.T) {
	testbed.Computes(t)
	least := map[string]float64{"ENUMERATION": 0.55, "ANNEALING": 0.92, "GENETIC": 0.8, "EXACT": 1}
	for _, n := range []int{8, 16, 40, 100} {
		for _, name := range []string{"ENUMERATION", "ANNEALING", "GENETIC", "EXACT"} {
			if name == "EXACT" && n > 16 {
				continue
			}
			sum, hits, cases := 0.0, 0, 100
			for seed := range cases {
				b := randomBag(n, uint64(seed))
				want, free := b.optimum(), b.free
				got := int64(0)
				for _, i := range pick(name, b, 0, uint64(seed)) {
					got += b.values[i]
				}
				if b.free != free {
					t.Fatalf("%s left %d of %d units", name, b.free, free)
				}
				sum += float64(got) / float64(want)
				if got == want {
					hits++
				}
			}
			if share := sum / float64(cases); share < least[name] {
				t.Errorf("%s of %d jobs: %.3f of the optimum", name, n, share)
			}
			t.Logf("%-11s %3d jobs: %.3f of the optimum, which is found in %d of %d", name, n, sum/float64(cases), hits, cases)
		}
	}
}

func randomBag(n int, seed uint64) *bag {
	rng := rand.New(rand.NewPCG(seed, 3))
	b := &bag{free: 64}
	for range n {
		procs := 1 + rng.Int64N(32)
		b.procs, b.values = append(b.procs, procs), append(b.values, procs*(60+rng.Int64N(36000)))
	}
	return b
}
