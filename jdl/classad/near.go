package classad

import (
	"cmp"
	"slices"
)

// Nearest returns the candidate that a word was probably meant to be, or "".
// Letters may be wrong, missing, doubled or swapped: one for every four.
func Nearest(word string, candidates []string) string {
	w := Fold(word)
	best, bestDist := "", 1+len(w)/4
	if len(w) < 3 || len(w) > 80 {
		return ""
	}
	for _, c := range candidates {
		if diff := len(c) - len(w); diff > bestDist || -diff > bestDist {
			continue
		}
		if d := editDistance(w, Fold(c), bestDist); d < bestDist || d == bestDist && best == "" && d <= len(w)/4 {
			best, bestDist = c, d
		}
	}
	if best == "" || bestDist > 2 { // a part that is left out is likelier than that many wrong letters
		return cmp.Or(fuller(w, candidates), best)
	}
	return best
}

// fuller is the candidate of which a word leaves out one part in the middle, as MaxWallTime does of MaxWallClockTime; "" when none
// has, or several have.
func fuller(word string, candidates []string) (only string) {
	for _, c := range candidates {
		more := len(c) - len(word)
		if more <= 0 || more > len(word)/2 {
			continue
		}
		low := Fold(c)
		same := 0
		for same < len(word) && word[same] == low[same] {
			same++
		}
		if same == 0 || same == len(word) || word[same:] != low[same+more:] {
			continue
		}
		if only != "" {
			return ""
		}
		only = c
	}
	return only
}

// DidYouMean suggests the known name nearest to a wrong one, "" when none is
// near.
func DidYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// editDistance is the number of insertions, deletions, replacements and swaps
// of neighbours between two words (optimal string alignment), or more than
// limit when it is above it.
func editDistance(a, b string, limit int) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
