package batch

// rest are the jobs behind those that a pass has given places, which it would give
// places too, were it asked: none of them could start now, so that nobody need know
// yet when they will. They get the places that the pass would have given them as
// soon as it matters: see settle.
type rest struct {
	pending bool    // there are some
	soonest int64   // none of them can start before
	free    []int32 // nodes of which something comes free at soonest
	may     []int32 // those that may start now, and some that may not, in order
	asked   int     // so many of them have been tried
	early   []job   // those that have ended early since the pass, which had reckoned with them
}

// lazy tells whether a pass may leave places for later: where they would be the same.
func (p *slurm) lazy(m *Machine) bool {
	_, byNode := m.plan.(*nodePlan)
	return byNode && !m.plain && !m.reserved && !p.sparing() && !p.tally.counts(&p.Slurm)
}

// list lists so many jobs, those that a pass goes through from a place of the queue on.
func (r *rest) list(queue *waiting, at place, n int) {
	r.may, r.asked = r.may[:0], 0
	for len(r.may) < n {
		e, here, ok := queue.at(at)
		if !ok {
			return
		}
		r.may = append(r.may, e.job)
		at = place{here.b, here.i + 1}
	}
}

// idle tells whether none of the jobs not tried yet could start now that last so long
// at most. The plan gets fuller: who could not start does not later.
func (r *rest) idle(m *Machine, longest int64) bool {
	nodes := m.plan.(*nodePlan)
	for len(r.may) > r.asked {
		if id := r.may[len(r.may)-1]; m.jobs[id].limit <= longest && nodes.clearings.admit(nodes, &m.jobs[id]) && m.fits(id) {
			return false
		}
		r.may = r.may[:len(r.may)-1]
	}
	return true
}

// postpone leaves the jobs not tried yet for later.
func (r *rest) postpone(p *nodePlan) {
	r.pending, r.soonest, r.free = true, never, r.free[:0]
	e, here, ok := p.releases.at(p.releases.after(p.now))
	if ok {
		r.soonest = int64(e.key)
	}
	for ; ok && int64(e.key) == r.soonest; e, here, ok = p.releases.at(here) {
		for _, s := range p.releases.parts[e.job] {
			r.free = append(r.free, s.node)
		}
		here.i++
	}
}

// settle gives places to all that the last pass left, before anything happens that
// was not planned.
func (p *slurm) settle(m *Machine) {
	if p.pending {
		(hindsight{p, m}).before(func() { p.reach(m, false, never) })
	}
}

// hindsight is what was planned before jobs ended early.
type hindsight struct {
	p *slurm
	m *Machine
}

// ended notes that a job ends before its limit. As long as none of the jobs left for
// later could have begun by then this may wait until it matters what they had.
func (h hindsight) ended(id int32) {
	p, m := h.p, h.m
	if !p.pending {
		return
	}
	if p.soonest <= m.now {
		p.settle(m)
		return
	}
	p.early = append(p.early, m.jobs[id])
}

// before lets something happen as if no job had ended early since the last pass.
func (h hindsight) before(do func()) {
	p, m := h.p, h.m
	for i := range p.early {
		if j := &p.early[i]; m.now < j.start+j.limit {
			hold(m.plan, j, m.now, j.shares, j.start+j.limit-m.now)
		}
	}
	do()
	for i := range p.early {
		if j := &p.early[i]; m.now < j.start+j.limit {
			m.plan.vacate(j, m.now, j.start+j.limit)
		}
	}
	if !p.pending {
		p.early = p.early[:0]
	}
}

// look gives places to those that the last pass left which might start now, when
// something comes free: on one of the nodes of which it does.
func (p *slurm) look(m *Machine) {
	if !p.pending || p.soonest > m.now {
		return
	}
	(hindsight{p, m}).before(func() {
		nodes := m.plan.(*nodePlan)
		longest := int64(0)
		for _, n := range p.free {
			longest = max(longest, nodes.nodes[n].gap(m.now))
		}
		if longest == 0 {
			p.postpone(nodes)
		} else {
			p.reach(m, true, longest)
		}
	})
}

// gap is for how long a node has a processor free from now on.
func (t *timeline) gap(now int64) int64 {
	t.learn()
	i := t.past(now)
	if i > 0 && t.full(i-1) {
		return 0
	}
	for ; i < len(t.steps); i++ {
		if t.full(i) {
			return t.steps[i] - now
		}
	}
	return never
}
