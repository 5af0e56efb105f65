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
func (p *slurm) keep(m *Machine) int {
	step := p.step()
	retry := upTo(m.now, step) > upTo(p.tried, step)
	due := p.due.next() <= m.now
	switch {
	case p.stale, m.plain, p.sparing(), (due || len(p.opened)+len(p.taken) > 0) && (m.reserved || p.refused):
		p.taken = p.taken[:0]
		return 0
	case !due && !retry && len(p.opened)+len(p.taken) == 0:
		return len(p.held)
	}
	nodes, _ := m.plan.(*nodePlan)
	p.offer.begin(nodes, p.horizon(m.now))
	p.offer.add(p.opened)
	p.offer.add(p.taken)
	p.taken = p.taken[:0]
	loose := p.loose
	w := walk{p, m}
	from := w.from(p.ripe(m), retry)
	p.loose = loose
	if retry {
		p.tried = m.now
	}
	return from
}

// walk goes through the jobs that have been tried.
type walk struct {
	p *slurm
	m *Machine
}

// from is keep, where some jobs are due; retry: those that have no place may have
// come within the window.
func (w *walk) from(ripe []ripeJob, retry bool) int {
	p, m := w.p, w.m
	for i := 0; i < len(p.held); {
		id := p.held[i]
		if len(ripe) > 0 && ripe[0].job == id {
			if !w.there(i, ripe[0]) {
				return i
			}
			ripe = ripe[1:]
			continue
		}
		j := &m.jobs[id]
		if retry && j.planned == never {
			return i
		}
		if p.offer.matters(m, p.held, i, j.planned, j.shares) {
			return i
		}
		p.offer.pass(j)
		i++
	}
	return len(p.held)
}

// there starts a job where it had its place, unless it is not certain that a
// pass that makes all places anew would do so.
func (w *walk) there(i int, r ripeJob) bool {
	p, m := w.p, w.m
	j := &m.jobs[r.job]
	if j.shrinks() || p.offer.matters(m, p.held, i, m.now, r.shares) || r.at < m.now && !p.offer.late(m, p.held, i, r.shares) {
		return false
	}
	p.take(m, r.job)
	j.limit, j.blocks = j.Limit, false
	hold(m.plan, j, m.now, r.shares, j.limit)
	m.begin(r.job)
	p.takes(m, r.job)
	p.offer.begun(j, r.at)
	return true
}
