package batch

import "slices"

// fillNodes is fill on a machine of nodes: kind by kind of what is asked of
// nodes, the next job of each that may fit is known; the first of these in order
// is tried. What does not fit does not fit later in the pass: there is less and
// less room.
func (p *backfill) fillNodes(m *Machine, nodes *nodePlan) {
	p.free = nodes.idle(p.free[:0])
	p.tips = p.tips[:0]
	for kind := range p.kinds {
		if p.kinds[kind].n > 0 {
			p.tip(m, nodes, tip{kind: kind})
		}
	}
	end := p.depthEnd()
	for len(p.tips) > 0 {
		first := 0
		for i := range p.tips {
			if p.tips[first].after(&p.tips[i].entry) {
				first = i
			}
		}
		t := p.tips[first]
		p.tips[first] = p.tips[len(p.tips)-1]
		p.tips = p.tips[:len(p.tips)-1]
		if end.job >= 0 && t.compare(end) > 0 {
			return
		}
		if !m.fits(t.job) {
			t.at.i++
		} else {
			p.take(m, t.job)
		}
		p.tip(m, nodes, t)
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

// tip finds the next job of a kind that its windows admit, if there is one.
func (p *backfill) tip(m *Machine, nodes *nodePlan, t tip) {
	list := &p.kinds[t.kind]
	e, _, ok := list.at(place{})
	if !ok {
		return
	}
	n := m.jobs[e.job].Need
	if !list.narrow(p.free[n.set]) {
		return
	}
	at, ok := list.next(t.at, nodes.open(n))
	if ok {
		e, t.at, _ = list.at(at)
		t.entry = e
		p.tips = append(p.tips, t)
	}
}

// narrow tells whether some job may be so narrow.
func (w *waiting) narrow(procs int32) bool {
	for _, b := range w.blocks {
		if b.procs <= procs {
			return true
		}
	}
	return false
}
