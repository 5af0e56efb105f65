package rank

import "math"

// fuzzyWeights are the chances of FuzzyRank, not normalised:
// w = atan(factor · (rank − mean)) + π/2, the form of the gLite broker's bulk
// path. They are never 0 or less, so that every resource can be drawn.
func fuzzyWeights(ranks []float64, factor float64) []float64 {
	mean := 0.0
	for _, r := range ranks {
		mean += r / float64(len(ranks))
	}
	ws := make([]float64, len(ranks))
	for i, r := range ranks {
		ws[i] = max(math.Atan(clamp(factor*(r-mean), -math.MaxFloat64, math.MaxFloat64))+math.Pi/2, 1e-12)
	}
	return ws
}

// fuzzyKey turns a uniform draw u and a weight into a key; ordering by
// falling keys draws without replacement with chances proportional to the
// weights (Efraimidis and Spirakis 2006, in logarithms).
func fuzzyKey(u, w float64) float64 { return math.Log(max(u, math.SmallestNonzeroFloat64)) / w }
