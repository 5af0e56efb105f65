package batch

import "slices"

// fillNodes is fill on a machine of nodes: kind by kind of what is asked of
// nodes, the next job of each that may fit is known; the first of these in order
// is tried. What does not fit does not fit later in the pass: there is less and
// less room.
func (p *backfill) fillNodes(m *Machine, nodes *nodePlan) {
	p.tips.clear(nodes)
	for kind := range p.kinds {
		if p.kinds[kind].n > 0 {
			p.tips.add(nodes, tip{kind: kind}, &p.kinds[kind])
		}
	}
	end := p.depthEnd()
	for len(p.tips.list) > 0 {
		t := p.tips.first()
		if end.job >= 0 && t.compare(end) > 0 {
			return
		}
		if !m.fits(t.job) {
			t.at.i++
		} else {
			p.take(m, t.job)
		}
		p.tips.add(nodes, t, &p.kinds[t.kind])
	}
}

// fillPlainly is fill by trying every job.
func (p *backfill) fillPlainly(m *Machine, list *waiting) {
	end := p.depthEnd()
	var all []entry
	for _, b := range list.blocks {
		all = append(all, b.jobs...)
	}
	for _, e := range all {
		if end.job >= 0 && e.compare(end) > 0 {
			return
		}
		if !slices.Contains(p.held, e.job) && m.fits(e.job) {
			p.take(m, e.job)
		}
	}
}

// tip is the next job of a kind.
type tip struct {
	entry
	kind int
	at   place
}

// tips are the next jobs of all kinds.
type tips struct {
	list []tip
	free []int32 // processors of all nodes that were free as the filling began, and of each set of them
}

// clear begins anew.
func (p *tips) clear(nodes *nodePlan) { p.list, p.free = p.list[:0], nodes.idle(p.free[:0]) }

// first takes out the one that is first in order.
func (p *tips) first() tip {
	first, last := 0, len(p.list)-1
	for i := range p.list {
		if p.list[first].after(&p.list[i].entry) {
			first = i
		}
	}
	t := p.list[first]
	p.list[first] = p.list[last]
	p.list = p.list[:last]
	return t
}

// add finds the next job of a kind that its windows admit, if there is one, from
// the place of a tip on.
func (p *tips) add(nodes *nodePlan, t tip, list *alike) {
	n := list.need
	if list.n == 0 {
		return
	}
	if least := list.narrowest(); least > p.free[n.set] || !nodes.room(n).holds(n, least) {
		return
	}
	at, ok := list.next(t.at, nodes.open(n))
	if ok {
		t.entry, t.at, _ = list.at(at)
		p.list = append(p.list, t)
	}
}

// narrowest is a width than which no job is narrower.
func (w *waiting) narrowest() int32 {
	least := w.blocks[0].procs
	for _, b := range w.blocks[1:] {
		least = min(least, b.procs)
	}
	return least
}

// holds tells whether a job so wide may have room at this moment.
func (r *room) holds(n *Need, procs int32) bool {
	nodes := int64(n.Nodes)
	if nodes == 0 {
		return r.total >= int64(procs)
	}
	return r.atLeast(int32((int64(procs)+nodes-1)/nodes)) >= nodes
}
