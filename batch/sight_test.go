package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// delayed lets some jobs begin later, behind others or in a reservation.
func delayed(rng *rand.Rand, s *State) {
	long := s.Jobs[0].Requested
	s.Reservations = append(s.Reservations, Reservation{
		Name: "some", Nodes: []string{s.Nodes[2].Name, s.Nodes[3].Name}, Users: []string{"u2"}, Start: s.Now.Add(long), End: s.Now.Add(9 * long), ByName: true,
	})
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Started.IsZero() {
			switch rng.IntN(30) {
			case 0:
				j.Begin = s.Now.Add(time.Duration(rng.IntN(5)) * j.Requested)
			case 1:
				j.After = []Dependency{{ID: s.Jobs[rng.IntN(len(s.Jobs))].ID}}
			case 2:
				j.Reservation, j.User = "some", "u2"
			}
		}
	}
}

// apart leaves the queues no nodes in common.
func apart(s *State) {
	for i := range s.Nodes {
		s.Nodes[i].Queues = s.Nodes[i].Queues[:1]
	}
}

// TestSight holds runs that look only so far ahead against such as see all: every start,
// in order, with its nodes, as far as they see and, once more begun, behind that, where
// jobs are for nodes of two parts of the cluster, with some in common and without. Some
// jobs come later, wait for others or run shorter than their limits.
func TestSight(t *testing.T) {
	testbed.Computes(t)
	ahead, behind := 0, 0
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := crowdedState(rng, 4+rng.IntN(10), 100+rng.IntN(100))
		if seed%2 > 0 {
			apart(&s)
		}
		if s.Queues[0].MaxRunning = rng.IntN(2) * 60; rng.IntN(2) == 0 {
			delayed(rng, &s)
		}
		for _, p := range []Policy{
			{Name: "conservative"}, {Name: "maui", Maui: Maui{ReservationDepth: Unlimited}},
			{Name: "maui", Maui: Maui{ReservationDepth: Unlimited, ReservationPolicy: "HIGHEST", Weights: Weights{XFactor: 10, Procs: float64(rng.IntN(5))}}},
		} {
			for _, b := range []Belief{Estimate{}, halves{}, asking{Estimate{}, 1, 30}} {
				if p.Name == "conservative" && b == (halves{}) {
					continue // it sees all
				}
				c, err := newCluster(s, p, &names{}, true)
				if err != nil {
					t.Fatal(err)
				}
				got, want := glimpse(c.Machine, b, nil, int64(rng.IntN(4)-1)*meanLimit(c)/2), c.forward(b, nil)
				looks := got.m.sight.partial
				for n := 0; ; n++ {
					j, ok := want.next()
					k, is := got.next()
					if ok != is {
						t.Fatalf("seed %d, %v, %T: start %d: %v, want %v", seed, p, b, n, is, ok)
					} else if !ok {
						break
					}
					if a, b := fmt.Sprint(k.seq, k.start, k.shares), fmt.Sprint(j.seq, j.start, j.shares); a != b {
						t.Fatalf("seed %d, %v: start %d is %s, want %s", seed, p, n, a, b)
					}
					if behind++; looks && got.depths == (depths{}) {
						ahead++
						behind--
					}
				}
			}
		}
	}
	if ahead < 300 || behind < 300 {
		t.Errorf("%d starts within sight, %d behind", ahead, behind)
	}
}

// meanLimit is how long the jobs that wait last on average.
func meanLimit(c *cluster) int64 {
	var w waiting
	for id := range c.jobs {
		if c.jobs[id].state == queued {
			w.insert(c.jobs[id].entry(int32(id)))
		}
	}
	return w.meanLimit()
}
