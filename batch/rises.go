package batch

import (
	"math/bits"
	"slices"
)

// rises are the times within a day at which a node that may do has more room than before:
// seconds from the time on that is looked at, above the number of the node. They are kept
// by parts of the day, each put in order when it is come to, as a search ends with the
// third part or so.
type rises struct {
	parts [2 << partBits][]uint64
	shift int // what makes seconds the number of a part
}

// Bits of the number of the node, and of that of a part, or one more.
const (
	nodeBits = 32
	partBits = 3
)

// begin is for a stretch of so many seconds.
func (r *rises) begin(seconds int64) {
	for i := range r.parts {
		r.parts[i] = r.parts[i][:0]
	}
	r.shift = max(0, bits.Len64(uint64(seconds))-partBits-1)
}

// note takes in a rise of a node, so many seconds on.
func (r *rises) note(seconds int64, node int32) {
	part := &r.parts[seconds>>r.shift]
	*part = append(*part, uint64(seconds)<<nodeBits|uint64(node))
}

// add takes in those of a node after a time and before another, behind which the first of
// its steps has a place.
func (r *rises) add(t *timeline, node, behind int32, at, until int64) {
	for i := int(behind) - 1; i >= 0 && t.steps[i] > at; i-- {
		if t.steps[i] < until {
			r.note(t.steps[i]-at, node)
		}
	}
	for i := range t.closed {
		if to := t.closed[i].to; at < to && to < until {
			r.note(to-at, node)
		}
	}
}

// rising looks for a start within a day at a time at which something comes free, on the
// nodes that may do: there alone does it give the job more room.
func (s *sweep) rising(at, until int64) bool {
	r := &s.p.rises
	r.begin(until - at)
	s.candidates(func(node int32) {
		t := &s.p.nodes[node]
		if s.known != nil {
			r.add(t, node, s.known[node].first, at, until)
			return
		}
		t.learn()
		r.add(t, node, int32(t.past(until)), at, until)
	})
	for _, list := range r.parts {
		slices.Sort(list)
		for i := 0; i < len(list); {
			next := list[i] >> nodeBits
			s.at = at + int64(next)
			for ; i < len(list) && list[i]>>nodeBits == next; i++ {
				s.renew(int32(list[i] & (1<<nodeBits - 1)))
			}
			if s.sum >= s.want && s.afresh() {
				return true
			}
		}
	}
	return false
}
