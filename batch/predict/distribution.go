package predict

import (
	"math"
	"slices"
)

// levels are those whose quantiles are learned; all others lie between or
// beyond.
var levels = [...]float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95}

const nLevels = len(levels)

// Distribution says how long a job will wait. The zero value is of one that
// starts at once.
type Distribution struct{ at [nLevels]float64 } // doublings, see scale; in order

// minute is what waits are counted against: on the scale of doublings a minute
// more or less is little to an hour, and much to nothing.
const minute = 60

// scale and unscale turn a wait in seconds into doublings of a minute, and back.
func scale(wait float64) float64 { return math.Log2(1 + max(wait, 0)/minute) }
func unscale(v float64) float64  { return minute * (math.Exp2(min(v, longest)) - 1) }

// longest is the longest wait foretold, in doublings of a minute: 30 years.
const longest = 24

// spread makes a Distribution of values on the scale, which need not be in order.
func spread(at [nLevels]float64) Distribution {
	slices.Sort(at[:])
	for i := range at {
		at[i] = min(max(at[i], 0), longest)
	}
	return Distribution{at}
}

// Quantile is the wait in seconds that is not exceeded with chance p. Chances
// beyond 1 in 1000 are taken as that.
func (d Distribution) Quantile(p float64) float64 {
	z := probit(p)
	i := 1
	for i < nLevels-1 && z > probit(levels[i]) {
		i++
	}
	low, high := probit(levels[i-1]), probit(levels[i])
	v := d.at[i-1] + (z-low)/(high-low)*(d.at[i]-d.at[i-1])
	return max(0, unscale(v))
}

// Chance is the probability that the job starts within so many seconds.
func (d Distribution) Chance(wait float64) float64 {
	v := scale(wait)
	if wait < 0 {
		return 0
	}
	if d.at[nLevels-1] == d.at[0] {
		if v >= d.at[0] {
			return 1
		}
		return 0
	}
	i := 1
	for i < nLevels-1 && (v > d.at[i] || d.at[i] == d.at[i-1]) {
		i++
	}
	step := max(d.at[i]-d.at[i-1], 1e-9)
	low, high := probit(levels[i-1]), probit(levels[i])
	z := low + (v-d.at[i-1])/step*(high-low)
	return min(max(0.5*math.Erfc(-z/math.Sqrt2), edge), 1-edge)
}

// edge is the smallest chance told.
const edge = 0.001

// probit is the quantile of the normal distribution.
func probit(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*min(max(p, edge), 1-edge)-1) }
