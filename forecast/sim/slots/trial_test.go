package slots_test

import (
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/sim/slots"
	"gridbroker/testdata/testbed"
)

// tasks come at random and take what they ask for, or half of it.
func tasks(n int, exact bool) iter.Seq2[batch.Task, error] {
	rng := rand.New(rand.NewPCG(1, 2))
	return func(yield func(batch.Task, error) bool) {
		at := int64(1_000_000)
		for i := range n {
			at += rng.Int64N(1800)
			t := batch.Task{ID: int64(i + 1), Submit: at, Limit: 600 + rng.Int64N(7200), Procs: 1 + rng.IntN(8), User: int64(rng.IntN(5))}
			if t.Run = t.Limit; !exact {
				t.Run = max(1, t.Limit/2)
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

func run(t *testing.T, tr slots.Trial, n int) []slots.Row {
	t.Helper()
	tr.Procs, tr.Policy, tr.Belief = 32, batch.Policy{Name: "easy"}, "estimate"
	tr.Poll, tr.Every, tr.Length = time.Minute, 10*time.Minute, 30*time.Minute
	tr.Ahead = []time.Duration{5 * time.Minute, time.Hour}
	rows, err := tr.Run(t.Context(), tasks(n, true))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Nearer slots hold more often than farther ones;
// looks that are late, lost and out
// of order make slots worse, not the trial fail; and the same seed gives the same.
func TestTrial(t *testing.T) {
	testbed.Computes(t)
	clean := run(t, slots.Trial{Seed: 1}, 400)
	near, far := clean[0], clean[1]
	if near.Judged < 200 || near.Held < 0.5 || near.Held <= far.Held || near.Began < near.Held || near.Withdrawn > far.Withdrawn || near.Found < 0.9 {
		t.Errorf("%+v\n%+v", near, far)
	}
	bad := slots.Trial{Seed: 1, Delay: 3 * time.Minute, Loss: 0.3, Reorder: 0.2}
	poor := run(t, bad, 400)
	if poor[0].Looks >= near.Looks || poor[0].Held >= near.Held || poor[0].Held < 0.3 {
		t.Errorf("late, lost and out of order: %+v", poor[0])
	}
	if again := run(t, bad, 400); again[0] != poor[0] || again[1] != poor[1] {
		t.Errorf("%+v\nbut before %+v", again, poor)
	}
}

// The chance told is that of whole slots: once enough was seen it is no more than the
// part of their processors that held.
func TestChanceTold(t *testing.T) {
	testbed.Computes(t)
	for _, r := range run(t, slots.Trial{Seed: 1, Skip: 400}, 1000) {
		if off := r.Chance - r.Held; off > 0.1 || r.Chance <= 0 {
			t.Errorf("%v ahead: told %.2f, held %.2f", r.Ahead, r.Chance, r.Held)
		}
	}
}
