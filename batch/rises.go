package batch

import "slices"

// rises are the times within a day at which a node that may do has more room than before,
// the first first: seconds from the time on that is looked at, above the number of the node.
type rises []uint64

// nodeBits is how many bits the number of the node has.
const nodeBits = 32

// add takes in those of a node after a time and before another, behind which the first of
// its steps has a place.
func (r *rises) add(t *timeline, node, behind int32, at, until int64) {
	note := func(rise int64) {
		if at < rise && rise < until {
			*r = append(*r, uint64(rise-at)<<nodeBits|uint64(node))
		}
	}
	for i := int(behind) - 1; i >= 0 && t.steps[i] > at; i-- {
		note(t.steps[i])
	}
	for i := range t.closed {
		note(t.closed[i].to)
	}
}

// rising looks for a start within a day at a time at which something comes free, on the
// nodes that may do: there alone does it give the job more room.
func (s *sweep) rising(at, until int64) bool {
	list := s.p.rises[:0]
	s.candidates(func(node int32) {
		t := &s.p.nodes[node]
		if s.known != nil {
			list.add(t, node, s.known[node].first, at, until)
			return
		}
		t.learn()
		list.add(t, node, int32(t.past(until)), at, until)
	})
	s.p.rises = list
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
	return false
}
