package batch

// conservative gives every job a place in the plan when it is submitted, the
// earliest that moves no other job. When a job ends, every waiting job, in
// order of submission, is lifted out of the plan and put back at the earliest
// place, which is never later than the one it had ("compression").
//
// Mu'alem and Feitelson 2001, "Utilization, predictability, workloads, and
// user runtime estimates in scheduling the IBM SP2 with backfilling".
//
// A job that found no earlier place when it was last looked at can only find
// one that reaches into something opened since. So a pass looks at few jobs:
// it carries the hull of what it has opened itself and, for each job, of what
// the pass before opened after having looked at that job.
type conservative struct {
	queue  waiting // in order of submission
	due    agenda  // planned starts; entries of moved jobs are stale
	count  int64
	before []opening // of the pass before, with the hull of all that followed
	opened []opening // of this pass
}

// opening is a time in which resources came free while a job was moved.
type opening struct {
	entry entry
	hull
}

// hull is a stretch of time with at most so many free processors.
type hull struct {
	from, to int64
	most     int32
}

func (h hull) join(g hull) hull {
	return hull{min(h.from, g.from), max(h.to, g.to), max(h.most, g.most)}
}

// nothing is the empty hull.
func nothing() hull { return hull{never, -never, 0} }

func (p *conservative) clone() policy {
	c := *p
	c.queue = p.queue.clone()
	c.due = append(agenda(nil), p.due...)
	c.before = append([]opening(nil), p.before...)
	c.opened = nil
	return &c
}

func (p *conservative) decide(*Machine) {}

func (p *conservative) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	j.key = -j.Priority
	p.queue.insert(j.entry(id))
	j.planned = m.plan.earliest(j, m.now, never)
	p.put(m, id)
}

// put occupies the planned place.
func (p *conservative) put(m *Machine, id int32) {
	j := &m.jobs[id]
	m.plan.occupy(j, j.planned, j.planned+j.limit)
	p.note(j, id)
}

// note remembers when a job is due.
func (p *conservative) note(j *job, id int32) {
	p.count++
	j.ticket = p.count
	p.due.push(due{j.planned, j.ticket, id})
}

func (p *conservative) left(m *Machine, id int32) {
	j := &m.jobs[id]
	p.queue.remove(j.entry(id))
	m.plan.vacate(j, j.planned, j.planned+j.limit)
	m.freed(j.planned, j.planned+j.limit)
}

func (p *conservative) freed(m *Machine, from, to int64) {
	open := nothing()
	if from = max(from, m.now); from < to {
		open = hull{from, to, m.plan.most(from, to)}
	}
	next := 0 // the first opening of the pass before that this job has not seen
	if open.most == 0 && len(p.before) == 0 {
		return
	}
	for _, b := range p.queue.blocks {
		if next < len(p.before) && b.procs > max(open.most, p.before[next].most) || next == len(p.before) && b.procs > open.most {
			continue // all too wide for what opened
		}
		for i := range b.jobs {
			e := &b.jobs[i]
			for next < len(p.before) && p.before[next].entry.compare(*e) <= 0 {
				next++
			}
			seen := open
			if next < len(p.before) {
				seen = seen.join(p.before[next].hull)
			}
			if e.procs <= seen.most {
				open = p.pull(m, e.job, seen, open)
			}
		}
	}
	p.remember()
}

// pull moves one job to an earlier place if there is one that reaches into
// the hull seen, and adds what that opens to open.
func (p *conservative) pull(m *Machine, id int32, seen, open hull) hull {
	j := &m.jobs[id]
	if j.planned <= max(m.now, seen.from) { // fixed, or ahead of what opened
		return open
	}
	from := max(m.now, seen.from-j.limit+1)
	start := m.plan.earlier(j, from, min(j.planned, seen.to))
	if start >= j.planned {
		return open
	}
	was := hull{from: j.planned, to: j.planned + j.limit}
	j.planned = start
	m.plan.move(j, was.from)
	p.note(j, id)
	was.from = max(was.from, min(was.to, start+j.limit))
	was.most = m.plan.most(was.from, was.to)
	p.opened = append(p.opened, opening{j.entry(id), was})
	return open.join(was)
}

// remember makes this pass's openings those of the pass before.
func (p *conservative) remember() {
	rest := nothing()
	for i := len(p.opened) - 1; i >= 0; i-- {
		rest = rest.join(p.opened[i].hull)
		p.opened[i].hull = rest
	}
	p.before, p.opened = p.opened, p.before[:0]
}

func (p *conservative) next(m *Machine) int64 {
	for len(p.due) > 0 && !p.live(m, p.due[0]) {
		p.due.pop()
	}
	if len(p.due) == 0 {
		return never
	}
	return p.due[0].at
}

// live tells whether the job still waits for this very start.
func (p *conservative) live(m *Machine, d due) bool {
	j := &m.jobs[d.job]
	return j.state == queued && j.ticket == d.ticket
}

func (p *conservative) wake(m *Machine) {
	for p.next(m) <= m.now {
		d := p.due.pop()
		p.queue.remove(m.jobs[d.job].entry(d.job))
		m.begin(d.job)
	}
}
