package batch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestHomeless: where more runs than there is room for, and nobody says where, a Live foretells what a forecast does of the
// state that it gives, which has the places that it has put jobs in.
func TestHomeless(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := batch.State{Now: now}
		for i := range 3 {
			s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprint("n", i), CPUs: 2 + rng.IntN(2), Up: true, Queues: [][]string{{"p"}, {"q"}, {"p", "q"}}[rng.IntN(3)]})
		}
		for i := range 7 {
			j := batch.Job{ID: fmt.Sprint(i), Queue: []string{"p", "q"}[rng.IntN(2)], Procs: 1 + rng.IntN(4), Requested: time.Duration(1+rng.IntN(5)) * time.Hour, Submitted: now}
			if i < 4 {
				j.Started = now.Add(-time.Duration(rng.IntN(3000)) * time.Second)
				switch n := s.Nodes[rng.IntN(3)].Name; rng.IntN(6) {
				case 0:
					j.Placed = []batch.Placement{{Node: n, Procs: j.Procs}}
				case 1:
					j.Within = []string{n}
				case 2:
					j.Without = []string{n}
				}
			}
			s.Jobs = append(s.Jobs, j)
		}
		if rng.IntN(2) == 0 {
			s.Reservations = []batch.Reservation{{Name: "r", Start: now.Add(time.Hour), End: now.Add(3 * time.Hour), Nodes: []string{s.Nodes[rng.IntN(3)].Name}}}
		}
		f := batch.Forecaster{Policy: scenePolicies()[int(seed)%len(scenePolicies())]}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Forecast(live.State())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(out.Jobs, out.Refused), fmt.Sprint(live.Starts(0), live.Refused()); a != b {
			t.Fatalf("seed %d, %s: a Live says %s, a forecast %s", seed, f.Policy.Name, b, a)
		}
	}
}
