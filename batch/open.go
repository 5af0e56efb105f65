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
	known int64 // of this version, from 1, they are all
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
func (l *later) planned(p *nodePlan) []int32 {
	if l.known == p.rooms.version+1 {
		return l.nodes
	}
	l.known = p.rooms.version + 1
	kept := l.nodes[:0]
	for _, n := range l.nodes {
		if begin, _ := p.nodes[n].bound(); begin > p.now || p.nodes[n].closed.begin(p.now) {
			kept = append(kept, n)
		} else {
			l.in[n] = false
		}
	}
	l.nodes = kept
	return kept
}

// open are the windows of a need: what can start now.
func (p *nodePlan) open(n *Need) windows {
	if ws := p.spans(n); n.Nodes == 0 {
		return ws
	}
	return p.room(n).wide(p, int64(n.Nodes))
}

// spans are the windows of all nodes of a need together, in whatever way a job
// is spread over them.
func (p *nodePlan) spans(n *Need) windows {
	r := p.room(n)
	if r.at != p.rooms.version {
		r.at, r.falls = p.rooms.version, r.falling(p, n)
		r.ws = r.ws[:0]
		left := int32(min(r.total, math.MaxInt32))
		for i := 0; i < len(r.falls); {
			span, by := r.falls[i].span, int32(0)
			for ; i < len(r.falls) && r.falls[i].span == span; i++ {
				by += r.falls[i].from - r.falls[i].to
			}
			r.ws = append(r.ws, window{left, span})
			left -= by
		}
		if left > 0 {
			r.ws = append(r.ws, window{left, never})
		}
	}
	return r.ws
}

// fall is the room of a node becoming less, so long from now.
type fall struct {
	span     int64
	from, to int32
}

// falling lists how the room for a need becomes less, the next first.
func (r *room) falling(p *nodePlan, n *Need) []fall {
	falls := r.falls[:0]
	for _, node := range p.later.planned(p) {
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
				falls = append(falls, fall{t.steps[i] - p.now, left, room})
				left = room
			}
		}
	}
	slices.SortFunc(falls, func(a, b fall) int { return cmp.Compare(a.span, b.span) })
	return falls
}

// wide are the windows of jobs that ask for a number of nodes: as many processors
// as so many nodes have each.
func (r *room) wide(p *nodePlan, nodes int64) windows {
	p.sizes = append(p.sizes[:0], r.count...)
	ws := p.ws[:0]
	each, have := r.most(p.sizes, int32(len(p.sizes)-1), 0, nodes)
	for _, f := range r.falls {
		if p.sizes[f.from]--; f.from >= each {
			have--
		}
		if p.sizes[f.to]++; f.to >= each {
			have++
		}
		if have >= nodes || each == 0 {
			continue
		}
		ws = append(ws, window{int32(nodes) * each, f.span})
		each, have = r.most(p.sizes, each-1, have, nodes)
	}
	if each > 0 {
		ws = append(ws, window{int32(nodes) * each, never})
	}
	p.ws = ws
	return ws
}

// most is the most room, not above each, that so many nodes have, and how many
// have it, given how many have more.
func (r *room) most(count []int32, each int32, have, nodes int64) (int32, int64) {
	for ; each > 0; each-- {
		if have += int64(count[each]); have >= nodes {
			return each, have
		}
	}
	return 0, have
}
