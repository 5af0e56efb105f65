package batch

// rest are the jobs behind those that a pass has given places, which it would give
// places too, were it asked: none of them could start now, so that nobody need know
// yet when they will. They get the places that the pass would have given them as
// soon as it matters: see settle.
type rest struct {
	pending bool    // there are some
	soonest int64   // none of them can start before
	may     []int32 // memory of reach: those that may start now, and some that may not, in order
	asked   int     // so many of them have been tried
}

// lazy tells whether a pass may leave places for later: where they would be the same.
func (p *slurm) lazy(m *Machine) bool {
	_, byNode := m.plan.(*nodePlan)
	return byNode && !m.plain && !m.reserved && m.now < p.near && !p.sparing() && !p.tally.counts(&p.Slurm)
}

// list lists the jobs that a pass goes through from a place of the queue on.
func (p *slurm) list(at place) {
	p.may, p.asked = p.may[:0], 0
	for len(p.held)+len(p.may) < p.MaxJobTest {
		e, here, ok := p.queue.at(at)
		if !ok {
			return
		}
		p.may = append(p.may, e.job)
		at = place{here.b, here.i + 1}
	}
}

// idle tells whether none of the jobs not tried yet could start now. The plan gets
// fuller: who could not start does not later.
func (r *rest) idle(m *Machine) bool {
	for len(r.may) > r.asked {
		if m.fits(r.may[len(r.may)-1]) {
			return false
		}
		r.may = r.may[:len(r.may)-1]
	}
	return true
}

// postpone leaves the jobs not tried yet for later.
func (r *rest) postpone(p *nodePlan) {
	r.pending, r.soonest = true, never
	if e, _, ok := p.releases.at(p.releases.after(p.now)); ok {
		r.soonest = int64(e.key)
	}
}

// settle gives places to all that the last pass left, before anything happens that
// was not planned.
func (p *slurm) settle(m *Machine) {
	if p.pending {
		p.reach(m, false)
	}
}

// look gives places to those that the last pass left which might start now, when
// something comes free.
func (p *slurm) look(m *Machine) {
	if p.pending && p.soonest <= m.now {
		p.reach(m, true)
	}
}
