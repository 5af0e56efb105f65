package batch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestEngineAsked asks engines while jobs come and go: the answers are those of a
// whole forecast made anew each time, and what starts when is as without questions.
func TestEngineAsked(t *testing.T) {
	testbed.Computes(t)
	asked, later, seeds := 0, 0, testbed.Seeds(12, 40)
	for seed := range seeds {
		for n, p := range scenePolicies() {
			quiet, noisy := storied(t, seed, p, nil), storied(t, seed, p, func(e *batch.Engine, rng *rand.Rand) {
				f := &batch.Forecaster{Policy: p}
				var sizes []batch.Size
				for range 3 {
					sizes = append(sizes, batch.Size{
						Procs: 1 + rng.IntN(6), Queue: []string{"", "p1", "p2"}[rng.IntN(3)], Limit: time.Duration(1+rng.IntN(16)) * 30 * time.Minute,
						Duration: time.Duration(rng.IntN(3)) * time.Hour, Memory: int64(rng.IntN(2) * 500),
					})
				}
				got, want := e.Earliest(f, sizes), batch.Whole(e, f).Earliest(sizes)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, policy %d: %+v start at %v, want %v", seed, n, sizes, got, want)
				}
				for _, at := range got {
					asked++
					if at.After(e.Now()) {
						later++
					}
				}
				horizon := time.Duration(1+rng.IntN(6)) * time.Hour
				if got, want := fmt.Sprint(e.Near(f, horizon).Slots(horizon)), fmt.Sprint(batch.Whole(e, f).Slots(horizon)); got != want {
					t.Fatalf("seed %d, policy %d: slots %s, want %s", seed, n, got, want)
				}
			})
			if quiet != noisy {
				t.Fatalf("seed %d, policy %d: asked\n%snot asked\n%s", seed, n, noisy, quiet)
			}
		}
	}
	if later < int(seeds)*25/2 {
		t.Errorf("only %d of %d starts are not at once", later, asked)
	}
}

// storied lets a scene go on with more jobs, and tells what happened; look is
// called in between.
func storied(t *testing.T, seed uint64, p batch.Policy, look func(*batch.Engine, *rand.Rand)) (story string) {
	rng, asks := rand.New(rand.NewPCG(seed, 37)), rand.New(rand.NewPCG(seed, 41))
	s := scene(rng)
	if seed%2 == 0 { // a pool
		s = batch.State{Now: s.Now, Nodes: []batch.Node{{Name: "all", CPUs: 9, Up: true}}, Queues: s.Queues}
	}
	e, err := batch.NewEngine(s, p)
	if err != nil {
		t.Fatal(err)
	}
	e.Observe(func(v batch.Event) { story += fmt.Sprintln(v.At.Sub(s.Now), v.Job.ID, v.Kind, v.Job.Placed) })
	at := s.Now
	for i := range 25 {
		j := sceneJob(rng, s, 1000+i)
		at = at.Add(time.Duration(rng.IntN(40)) * time.Minute)
		j.Submitted = at
		if err := e.Submit(j, time.Duration(1+rng.IntN(600))*time.Minute); err != nil {
			story += err.Error() + "\n"
		}
		if look != nil {
			look(e, asks)
		}
	}
	for e.Step() {
	}
	return story
}
