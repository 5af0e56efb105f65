package batch

import "slices"

// ripeJob is a job whose place is due, and the place.
type ripeJob struct {
	entry
	at     int64
	shares []share
}

// ripe takes the jobs whose places are due out of the plan, in order of priority.
func (p *places) ripe(m *Machine) (list []ripeJob) {
	for p.due.next() <= m.now {
		id := p.due.pop()
		r := ripeJob{*m.entry(id), m.jobs[id].planned, nil}
		r.shares = p.lift(m, id)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b ripeJob) int { return a.compare(b.entry) })
	return list
}

// keep goes through the jobs that have been tried, in order, and starts those
// whose places are due in them. It returns the place of the first of which it is
// not certain that a pass that makes all places anew would give it the place that
// it has: from that one on they are to be made anew.
func (g ground) keep() int {
	p, m, y := g.p, g.m, g.yard
	step := p.step()
	retry := upTo(m.now, step) > upTo(y.tried, step)
	moved := y.due.next() <= m.now || len(y.opened)+len(y.taken) > 0 || m.caps.any()
	switch {
	case y.stale, m.plain, p.sparing(), moved && (m.reserved || p.refused):
		y.taken = y.taken[:0]
		return 0
	case !moved && !retry:
		return len(y.held)
	}
	nodes, _ := m.plan.(*nodePlan)
	y.offer.begin(nodes, p.horizon(m.now))
	y.offer.add(y.opened)
	y.offer.add(y.taken)
	y.taken = y.taken[:0]
	loose := y.loose
	from := g.from(y.ripe(m), retry)
	y.loose, y.tried = loose, m.now // in the same step, where those without a place were not tried again
	return from
}

// from is keep, where some jobs are due; retry: those that have no place may have
// come within the window.
func (g ground) from(ripe []ripeJob, retry bool) int {
	m, y := g.m, g.yard
	at := place{}
	for i := 0; i < len(y.held); {
		id := y.held[i]
		if m.caps.any() {
			var same bool
			if at, same = g.bars(at, id); !same {
				return i
			}
		}
		if len(ripe) > 0 && ripe[0].job == id {
			if !g.there(i, ripe[0]) {
				return i
			}
			ripe = ripe[1:]
			continue
		}
		j := &m.jobs[id]
		if retry && j.planned == never {
			return i
		}
		if y.offer.matters(m, y.held, i, j.planned, j.shares) {
			return i
		}
		y.offer.pass(j)
		at.i++
		i++
	}
	return len(y.held)
}

// bars goes, from a place of the queue on, through the jobs that were passed over ahead of one
// that was tried, and tells whether what jobs share still keeps them from having a place, and it
// not. So it does where one could start now, beside the places of those ahead at least: but that then counts as tried.
func (g ground) bars(at place, tried int32) (place, bool) {
	m, counts, kinds := g.m, g.p.tally.counts(&g.p.Slurm), g.m.caps.plannable()
	end, there := g.queue.find(*m.entry(tried))
	for at, _ = g.queue.open(at, kinds); at.b < end.b || at.b == end.b && at.i < end.i; at, _ = g.queue.open(place{at.b, at.i + 1}, kinds) {
		e, _, _ := g.queue.at(at)
		if j := &m.jobs[e.job]; counts || m.caps.lets(j.takes) || m.plan.earliest(j, m.now, m.now+1) != m.now {
			return at, false
		}
		g.past = e
	}
	return end, there && m.caps.plans(m.jobs[tried].takes)
}

// there starts a job where it had its place, unless it is not certain that a
// pass that makes all places anew would do so.
func (g ground) there(i int, r ripeJob) bool {
	p, m, y := g.p, g.m, g.yard
	j := &m.jobs[r.job]
	if j.shrinks() || !m.caps.lets(j.takes) || y.offer.matters(m, y.held, i, m.now, r.shares) || r.at < m.now && !y.offer.late(m, y.held, i, r.shares) {
		return false
	}
	p.take(m, r.job)
	j.limit, j.blocks = j.Limit, false
	hold(m.plan, j, m.now, r.shares, j.limit)
	m.begin(r.job)
	y.takes(m, r.job, *m.entry(r.job))
	y.offer.begun(j, r.at)
	return true
}
