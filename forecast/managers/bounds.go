package managers

import "slices"

// A description is one line on a link, of 8 MiB at most with the tree above and a job. Where neighbours tell more together than
// one line holds each of them has its share of it: a link of others must not end, nor be without them, because of one that tells much.
const (
	maxRooms      = 3 << 19  // bytes of the amounts that a neighbour is told
	maxWholes     = 2 << 20  // and of the kinds of systems
	maxSystemTags = 64 << 10 // bytes of the tags of one of either
)

// weight is how many bytes an amount has in a message at most.
func (r *Resources) weight() int { return 100 + 2*len(r.Tags) }

// Weight is how many bytes a description has in a message at most.
func (s Set) Weight() (bytes int) {
	for i := range s {
		bytes += s[i].weight()
	}
	return bytes
}

// Largest keeps the largest amounts, of a weight of so many bytes at most.
func (s Set) Largest(bytes int) Set {
	for i := len(s) - 1; i >= 0; i-- {
		if bytes -= s[i].weight(); bytes < 0 {
			return s[i+1:]
		}
	}
	return s
}

// weigh finds out whether all that was merged may be more than a neighbour may be told.
func (t *tables) weigh() {
	bytes := 0
	for i := range t.merged {
		bytes += t.merged[i].amount.weight()
	}
	t.large = bytes > maxRooms
}

// shared is what a neighbour is told where it cannot be told all: of each holder the largest amounts.
func (t *tables) shared(n Neighbour) Set {
	left := make([]int, 1+len(t.links)) // by holder, Here the first
	seen := make([]*holder, 0, len(t.merged))
	for h := range t.seenFrom(n) {
		left[1+h.by] += h.amount.weight()
		seen = append(seen, h)
	}
	share := fairShare(left, maxRooms)
	for by := range left {
		left[by] = share
	}
	s := make(Set, 0, len(seen))
	for _, h := range slices.Backward(seen) {
		if left[1+h.by] -= h.amount.weight(); left[1+h.by] >= 0 {
			s = append(s, h.amount)
		}
	}
	slices.Reverse(s)
	return s
}

// fairShare is how much of a whole each may have at most, where those that want less leave the others what they do not want.
func fairShare(wanted []int, whole int) int {
	left := whole
	for i, size := range slices.Sorted(slices.Values(wanted)) {
		share := left / (len(wanted) - i)
		if size > share {
			return share
		}
		left -= size
	}
	return whole
}
