package rank

import (
	"cmp"
	"math"
	"slices"
)

// key orders candidates: falling first, then second, then the draw.
type key struct{ first, second, u float64 }

func (a key) compare(b key) int {
	return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.second, a.second), cmp.Compare(b.u, a.u))
}

// keys draws one number for every candidate, in the order of their IDs, so
// that a seed gives the same order whatever order they came in. A draw never
// depends on a score, so a better score never lowers a candidate.
func (f *Field) keys(draws Source) []key {
	if f.ks == nil {
		f.ks = make([]key, len(f.entries))
	}
	ks := f.ks
	for i := range ks {
		ks[i] = key{}
		ks[i].u = draws.Float64()
	}
	if f.ranks && f.job.FuzzyRank {
		f.fuzzyKeys(ks)
		return ks
	}
	if f.policy.Name == Paper {
		f.paperKeys(ks)
		return ks
	}
	near := f.near()
	for i := range ks {
		e := &f.entries[i]
		ks[i].first, ks[i].second = e.primary, e.score.value+near*ks[i].u
	}
	return ks
}

// near is the width of the draw among near-equals, in seconds: Near, but for
// short jobs no more than a sixtieth of their run time. Only scores that are
// expected completions have one.
func (f *Field) near() float64 {
	if f.policy.Name != Hybrid || f.ranks {
		return 0
	}
	return clamp(f.runs()/60, 0, f.policy.Model.Near.Seconds())
}

// shortRun is as which the shortest runs count for what is near, in seconds: differences of less than five no source tells apart,
// and all who send such jobs would hit the same resource.
const shortRun = 300

// runs is how long the job runs, in seconds: as such jobs did where they ran longest, else as it asks for.
func (f *Field) runs() float64 {
	longest, known := 0.0, false
	for i := range f.entries {
		if c := f.entries[i].base; c.measured() {
			longest, known = max(longest, c.History.RunTime.V.Seconds()), true
		}
	}
	if known {
		return max(longest, shortRun)
	}
	return f.scene.runTime
}

func (f *Field) fuzzyKeys(ks []key) {
	var at []int
	var ranks []float64
	for i := range f.entries {
		ks[i].first = math.Inf(-1)
		if f.entries[i].why == "" && f.entries[i].score.unranked == "" {
			at = append(at, i)
			ranks = append(ranks, f.entries[i].primary)
		}
	}
	factor := f.job.FuzzyFactor
	if factor == 0 {
		factor = 1
	}
	for j, w := range fuzzyWeights(ranks, factor) {
		ks[at[j]].first = fuzzyKey(ks[at[j]].u, w)
	}
}

// best moves the first n in order to the front, sorted. For few of many it
// keeps a short sorted list instead of sorting all.
func best(order []int, n int, compare func(a, b int) int) {
	if n > 32 || n*4 > len(order) {
		slices.SortFunc(order, compare)
		return
	}
	slices.SortFunc(order[:n], compare)
	for i := n; i < len(order); i++ {
		if compare(order[i], order[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(order[:n], order[i], compare)
		x := order[i]
		order[i] = order[n-1]
		copy(order[at+1:n], order[at:n-1])
		order[at] = x
	}
}
