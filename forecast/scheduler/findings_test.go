package scheduler

import (
	"math/rand/v2"
	"testing"
)

// What was told of a job in the round before is found as it was told then, whoever came and went between; after a round of some
// sites nothing is.
func TestFindingsAreThoseOfTheRoundBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f, told, found := &findings{}, map[*placed]mark{}, 0
	all := make([]*placed, 200)
	for i := range all {
		all[i] = &placed{seq: int64(i)}
	}
	for round := range 50 {
		whole := round%7 != 3
		f.begin(whole)
		is := map[*placed]mark{}
		for _, p := range all {
			if r.IntN(4) == 0 { // it is not there
				continue
			}
			m, known := f.of(p)
			if was, there := told[p]; known && (!there || m != was) {
				t.Fatalf("round %d, job %d: %v, want %v, %v", round, p.seq, m, was, there)
			} else if known {
				found++
			}
			m = mark{started: r.Int64N(3)}
			if f.add(p, m); whole {
				is[p] = m
			}
		}
		told = is
	}
	if found < 1000 {
		t.Errorf("%d were found", found)
	}
}
