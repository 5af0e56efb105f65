package batch

import (
	"cmp"
	"math"
	"slices"
)

// yard is a part of the machine's nodes that no waiting job reaches out of: what is
// planned there means nothing to the others, so that each is planned by itself. There
// is one of all nodes where that cannot be: see parted.
type yard struct {
	places
	rest
	queue waiting  // the jobs that are for its nodes, in order of priority
	nodes []uint64 // a bit for each
	upto  entry    // the last job of the whole queue that the last pass would have tried
	tried int64    // when all places were last made
	stale bool     // places must be made anew
}

// yards are all of them.
type yards []*yard

// mostYards bounds them.
const mostYards = 16

// allJobs is after every job.
func allJobs() entry { return entry{key: math.Inf(1)} }

// has tells whether a node is of the yard.
func (y *yard) has(node int32) bool {
	return int(node)>>6 < len(y.nodes) && y.nodes[node>>6]>>(node&63)&1 != 0
}

// touches tells whether any of some shares is on its nodes.
func (y *yard) touches(shares []share) bool {
	return slices.ContainsFunc(shares, func(s share) bool { return y.has(s.node) })
}

// meets tells whether any node of a set is of the yard.
func (y *yard) meets(nodes []uint64) bool { return common(nodes, y.nodes) }

// claim makes nodes the yard's.
func (y *yard) claim(nodes []uint64) {
	for len(y.nodes) < len(nodes) {
		y.nodes = append(y.nodes, 0)
	}
	for i, w := range nodes {
		y.nodes[i] |= w
	}
}

// clone copies the yard into the memory of an older copy.
func (y *yard) clone(old *yard) *yard {
	return &yard{
		places: y.places.clone(old.places), rest: y.rest.clone(old.rest), queue: y.queue.clone(old.queue),
		nodes: append(old.nodes[:0], y.nodes...), upto: y.upto, tried: y.tried, stale: y.stale,
	}
}

// clone copies all into the memory of older copies.
func (list yards) clone(old yards) yards {
	c := make(yards, len(list))
	for i, y := range list {
		memory := &yard{}
		if i < len(old) {
			memory = old[i]
		}
		c[i] = y.clone(memory)
	}
	return c
}

// due is when the first place is.
func (list yards) due() int64 {
	at := never
	for _, y := range list {
		at = min(at, y.due.next())
	}
	return at
}

// soonest is the first time at which a job left for later could start.
func (list yards) soonest() int64 {
	at := never
	for _, y := range list {
		if y.pending {
			at = min(at, y.rest.soonest)
		}
	}
	return at
}

// of finds the yard of a need's nodes, which are its own from then on.
func (list *yards) of(m *Machine, n *Need, parted bool) int32 {
	if !parted || n == nil {
		if list.join(m, len(*list)); n != nil {
			(*list)[0].claim(n.serve)
		}
		return 0
	}
	meet := slices.IndexFunc(*list, func(y *yard) bool { return y.meets(n.serve) })
	switch {
	case meet < 0 && len(*list) < mostYards:
		meet = len(*list)
		*list = append(*list, newYard())
	case meet < 0:
		meet = mostYards - 1
	default:
		list.gather(m, meet, func(y *yard) bool { return y.meets(n.serve) })
	}
	(*list)[meet].claim(n.serve)
	return int32(meet)
}

func newYard() *yard { return &yard{tried: -never, stale: true, upto: allJobs()} }

// join makes one yard of the first so many, or the only one.
func (list *yards) join(m *Machine, n int) {
	if len(*list) == 0 {
		*list = append(*list, newYard())
	}
	first := slices.Clone((*list)[:min(n, len(*list))])
	list.gather(m, 0, func(y *yard) bool { return slices.Contains(first, y) })
}

// gather takes those behind a yard that are like it into it. None of them has left
// places for later.
func (list *yards) gather(m *Machine, into int, like func(*yard) bool) {
	y := (*list)[into]
	kept := (*list)[:into+1]
	for _, other := range (*list)[into+1:] {
		if like(other) {
			y.absorb(m, other)
		} else {
			kept = append(kept, other)
		}
	}
	if len(kept) == len(*list) {
		return
	}
	clear((*list)[len(kept):])
	*list = kept
	for i, y := range kept {
		y.queue.each(func(e *entry) { m.jobs[e.job].yard = int32(i) })
	}
}

// absorb takes another yard in.
func (y *yard) absorb(m *Machine, other *yard) {
	other.queue.each(func(e *entry) { y.queue.insert(*e) })
	y.claim(other.nodes)
	y.held = append(y.held, other.held...)
	slices.SortFunc(y.held, func(a, b int32) int { return m.entry(a).compare(*m.entry(b)) })
	for _, d := range other.places.due.heap {
		y.places.due.set(d.job, d.at)
	}
	y.opened, y.taken = append(y.opened, other.opened...), append(y.taken, other.taken...)
	y.front, y.loose = nil, true
	y.tried, y.stale = min(y.tried, other.tried), y.stale || other.stale
}

// each visits the jobs in order.
func (w *waiting) each(visit func(*entry)) {
	for _, b := range w.blocks {
		for i := range b.jobs {
			visit(&b.jobs[i])
		}
	}
}

// nth is the entry at a place counted from 0; allJobs where there are not so many.
func (w *waiting) nth(n int) entry {
	for _, b := range w.blocks {
		if n < len(b.jobs) {
			return b.jobs[n]
		}
		n -= len(b.jobs)
	}
	return allJobs()
}

// inOrder puts the last starts, all of one pass, in the order of priority.
func inOrder(m *Machine, starts []int32) {
	if len(starts) < 2 {
		return
	}
	first := m.jobs[starts[0]].order
	for _, id := range starts {
		first = min(first, m.jobs[id].order)
	}
	slices.SortFunc(starts, func(a, b int32) int {
		x, y := &m.jobs[a], &m.jobs[b]
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.seq, y.seq))
	})
	for i, id := range starts {
		m.jobs[id].order = first + int64(i)
	}
}
