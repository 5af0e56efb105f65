package batch

import (
	"math/bits"
	"slices"
)

// Errors learns how far the starts of a cluster were from their forecasts.
// Forecasts are kept apart by how long a wait they foretold: by powers of two
// of a minute. The last 256 of each kind count.
type Errors struct{ kinds [20]recent }

type recent struct {
	errors [256]int64
	n      int
}

// leastErrors is how many errors a quantile needs.
const leastErrors = 20

func kind(wait int64) int {
	return min(bits.Len64(uint64(max(wait, 0)/60)), len(Errors{}.kinds)-1)
}

// Learn takes in a forecast that has come true, or not: the wait foretold and
// the wait that was, in seconds.
func (e *Errors) Learn(foretold, wait int64) {
	r := &e.kinds[kind(foretold)]
	r.errors[r.n%len(r.errors)] = wait - foretold
	r.n++
}

// Quantile is the q-quantile of wait - foretold in seconds for a foretold
// wait; negative: it started earlier. ok is false where too little is known.
func (e *Errors) Quantile(foretold int64, q float64) (seconds int64, ok bool) {
	r := &e.kinds[kind(foretold)]
	n := min(r.n, len(r.errors))
	if n < leastErrors {
		return 0, false
	}
	sorted := slices.Clone(r.errors[:n])
	slices.Sort(sorted)
	return int64(rank(sorted, q)), true
}
