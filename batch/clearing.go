package batch

import (
	"cmp"
	"math/bits"
	"slices"
)

// clearings are the processors free at this moment, and for how long they stay so by
// the plan: of all nodes, and of each set of them. They bound what could start now.
type clearings struct {
	any   *Need // asks for nothing but processors
	sets  []windows
	known []int64 // by set: of this version, from 1
}

// admit tells whether a job may have room at this moment: whether the nodes that
// serve it have its processors free for all of its time, whatever else it asks for.
func (c *clearings) admit(p *nodePlan, j *job) bool {
	if p.reserved {
		return true
	}
	ws := c.of(p, j.Need.set)
	i, _ := slices.BinarySearchFunc(ws, j.limit, func(w window, limit int64) int { return cmp.Compare(w.span, limit) })
	return i < len(ws) && ws[i].procs >= j.procs
}

// of is what is free of a set of nodes: less and less for longer and longer.
func (c *clearings) of(p *nodePlan, set int) windows {
	for len(c.sets) <= len(p.sets) {
		c.sets, c.known = append(c.sets, nil), append(c.known, 0)
	}
	room := p.room(c.anything(p))
	if c.known[set] == p.rooms.version+1 {
		return c.sets[set]
	}
	c.known[set] = p.rooms.version + 1
	ws := c.sets[set][:0]
	for word, w := range room.some {
		if set > 0 {
			w &= p.sets[set-1].serve[word]
		}
		for ; w != 0; w &= w - 1 {
			node := word<<6 + bits.TrailingZeros64(w)
			if gap := p.nodes[node].gap(p.now); gap > 0 {
				ws = append(ws, window{room.free[node], gap})
			}
		}
	}
	slices.SortFunc(ws, func(a, b window) int { return cmp.Compare(a.span, b.span) })
	for i := len(ws) - 2; i >= 0; i-- {
		ws[i].procs += ws[i+1].procs
	}
	c.sets[set] = ws
	return ws
}

// anything is a need of processors alone.
func (c *clearings) anything(p *nodePlan) *Need {
	if c.any == nil {
		c.any = &Need{}
		for i := range p.nodes {
			c.any.allow(int32(i))
		}
	}
	return c.any
}
