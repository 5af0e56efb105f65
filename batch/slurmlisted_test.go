package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSlurmListed: in which order jobs are listed makes no difference to a forecast under slurm, whose charted passes take
// ends of one second one after the other: squeue lists jobs by partition, and Slurm goes by when it has made them.
func TestSlurmListed(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 31))
		s := crowdedState(rng, 3+rng.IntN(5), 10)
		s.Reservations = nil
		for i := range s.Jobs {
			if j := &s.Jobs[i]; !j.Started.IsZero() { // many ends in one second
				j.Requested = time.Duration(2+rng.IntN(6)) * time.Minute
				j.Started = s.Now.Add(-time.Duration(rng.IntN(2)) * time.Minute)
			}
		}
		want := listed(t, s, seed)
		rng.Shuffle(len(s.Jobs), func(a, b int) { s.Jobs[a], s.Jobs[b] = s.Jobs[b], s.Jobs[a] })
		if got := listed(t, s, seed); got != want {
			t.Errorf("seed %d: %s\nand in another order %s", seed, want, got)
		}
	}
}

// listed is the plan of the first pass and the whole forecast.
func listed(t *testing.T, s State, seed uint64) string {
	t.Helper()
	p := Slurm{Recent: seed%2 == 0}
	m := passing(t, s, p, seed).m
	m.policy.(*slurm).pass(m)
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: p}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]time.Duration{}
	for _, e := range out.Jobs {
		starts[e.ID] = e.Start.Sub(s.Now)
	}
	return fmt.Sprint(m.policy.(*slurm).chart.places, starts)
}
