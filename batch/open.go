package batch

import (
	"cmp"
	"math"
	"slices"
)

// later are the nodes on which something is planned to begin after now.
type later struct {
	nodes []int32
	in    []bool
}

func (l *later) add(node int32, of int) {
	if len(l.in) < of {
		l.in = make([]bool, of)
	}
	if !l.in[node] {
		l.in[node] = true
		l.nodes = append(l.nodes, node)
	}
}

// planned lists the nodes on which something is to begin.
func (p *nodePlan) planned() []int32 {
	kept := p.later.nodes[:0]
	for _, n := range p.later.nodes {
		if p.nodes[n].begin > p.now {
			kept = append(kept, n)
		} else {
			p.later.in[n] = false
		}
	}
	p.later.nodes = kept
	return kept
}

// open are the windows of a kind: what can start now of jobs that ask for no
// number of nodes, and for others what they do not exceed.
func (p *nodePlan) open(n *Need) windows {
	r := p.room(n)
	if r.at == p.rooms.version {
		return r.ws
	}
	r.at = p.rooms.version
	type less struct {
		span int64
		by   int32
	}
	var falls []less
	for _, node := range p.planned() {
		left := r.free[node]
		if left <= 0 {
			continue
		}
		t := &p.nodes[node]
		if t.reserved > 0 {
			continue // not worked out: as if nothing were to begin
		}
		t.learn()
		for i := t.past(p.now); i < len(t.steps) && left > 0; i++ {
			if room := t.have.room(t.used[i], n); room < left {
				falls = append(falls, less{t.steps[i] - p.now, left - room})
				left = room
			}
		}
	}
	slices.SortFunc(falls, func(a, b less) int { return cmp.Compare(a.span, b.span) })
	r.ws = r.ws[:0]
	left := int32(min(r.total, math.MaxInt32))
	for i := 0; i < len(falls); {
		span, by := falls[i].span, int32(0)
		for ; i < len(falls) && falls[i].span == span; i++ {
			by += falls[i].by
		}
		if by > 0 {
			r.ws = append(r.ws, window{left, span})
			left -= by
		}
	}
	if left > 0 {
		r.ws = append(r.ws, window{left, never})
	}
	return r.ws
}
