package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestSlurmPlay follows a cluster under slurm from picture to picture: what a Live
// says after each is what a forecast of the picture does. Where no job gives way and no
// pass is charted, the model is kept.
func TestSlurmPlay(t *testing.T) {
	testbed.Computes(t)
	for _, v := range []struct {
		name string
		p    Slurm
		kept bool // the model, where a look shows some news
	}{
		{"basic", Slurm{fine: true}, true},
		{"weights", Slurm{fine: true, Multifactor: Multifactor{JobSize: 1000, FairShare: 500, Shares: map[string]float64{"u1": 1, "u2": 0.5}}}, true},
		{"builtin", Slurm{Builtin: true}, true},
		{"age", Slurm{fine: true, Multifactor: Multifactor{Age: 100000, MaxAge: time.Hour}}, true},
		{"builtin ages", Slurm{Builtin: true, Multifactor: Multifactor{Age: 100000, MaxAge: 4 * time.Hour}}, true},
		{"charted", Slurm{}, false},
		{"gives way", Slurm{fine: true, Preemption: Preemption{Type: "partition_prio"}}, false},
	} {
		t.Run(v.name, func(t *testing.T) {
			kept := 0
			for seed := range uint64(10) {
				kept += played(t, v.p, seed)
			}
			if v.kept && kept < 40 || !v.kept && kept > 0 {
				t.Errorf("the model was kept %d times", kept)
			}
		})
	}
}

// played follows a cluster for 25 looks and counts those with news at which the model was kept.
func played(t *testing.T, p Slurm, seed uint64) (kept int) {
	rng := rand.New(rand.NewPCG(seed, 61))
	s := crowdedState(rng, 5+rng.IntN(10), 30+rng.IntN(100))
	if s.Reservations = nil; seed%3 == 2 {
		s.Queues[0].MaxRunning = 6
	}
	if p.Preemption.Type != "" {
		s.Queues[0].PreemptMode, s.Queues[1].Priority = PreemptRequeue, 2
	}
	minute := s.Jobs[0].Requested
	policy := Policy{Name: "slurm", Slurm: p}
	e, err := NewEngine(s, policy)
	if err != nil {
		t.Fatal(err)
	}
	f := Forecaster{Policy: policy, Belief: NewHistory()}
	if p.Multifactor.Age > 0 && seed%2 == 1 { // else a look without news leaves the schedule as it is
		f.Belief = Estimate{}
	}
	live, err := f.Live(e.State())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		at := e.Now().Add(time.Duration(1 + rng.Int64N(int64(minute))))
		j := s.Jobs[len(s.Jobs)-1]
		j.ID, j.User, j.Submitted, j.Requested = fmt.Sprint("new", i), fmt.Sprint("u", rng.IntN(4)), at, minute*time.Duration(1+rng.IntN(3))
		if ask(rng, &j); rng.IntN(8) == 0 {
			j.Least = j.Requested / 2
		}
		if rng.IntN(2) == 0 {
			j.Priority = float64(rng.IntN(2 << rng.IntN(16)))
		}
		e.Submit(j, time.Duration(1+rng.Int64N(int64(j.Requested)))) // some are refused
		e.Advance(at)
		c := live.c
		news, err := live.Sync(e.State())
		if err != nil {
			t.Fatal(err)
		}
		if live.c == c && news.Submitted+news.Started+news.Ended > 0 {
			kept++
		}
		want, err := f.Forecast(e.State())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(live.Near(6*time.Hour).Slots(6*time.Hour)), fmt.Sprint(want.Slots(6*time.Hour)); a != b {
			t.Fatalf("seed %d, look %d: slots %s, want %s", seed, i, a, b)
		}
		if a, b := fmt.Sprint(live.Starts(0)), fmt.Sprint(want.Jobs); a != b {
			t.Fatalf("seed %d, look %d: %s, want %s", seed, i, a, b)
		}
	}
	return kept
}
