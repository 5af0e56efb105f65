package batch

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAhead holds the nodes that are full in the days of a job, kept from one day to the
// next, against those found by looking at each of these days.
func TestAhead(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		words, days := 1+rng.IntN(3), 10+rng.IntN(60)
		some := func() marks {
			m := newMarks(days * words)
			for i := range m.full {
				m.full[i] = 1 << rng.IntN(64)
			}
			return m
		}
		c := &calendar{words: words, days: days, marks: some(), open: make([]uint64, words)}
		if closed := some(); rng.IntN(2) == 0 {
			c.closed = &closed
		}
		for range 3 { // searches
			c.ahead.asked = 0
			for first, last := rng.IntN(days), 0; first <= days; first += 1 + rng.IntN(1+rng.IntN(9)) {
				last = min(days, max(last, first+rng.IntN(12)))
				clear(c.open)
				c.close(first, last)
				want := slices.Clone(c.open)
				clear(c.open)
				if c.pass(first, last); !slices.Equal(c.open, want) {
					t.Fatalf("seed %d, %d days: full in [%d, %d) are %x, want %x", seed, days, first, last, c.open, want)
				}
			}
		}
	}
}
