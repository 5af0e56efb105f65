package batch

import "math"

// conservative gives every job a place in the plan when it is submitted, the
// earliest that moves no other job. When a job ends, every waiting job, in
// order of submission, is lifted out of the plan and put back at the earliest
// place, which is never later than the one it had ("compression").
//
// Mu'alem and Feitelson 2001, "Utilization, predictability, workloads, and
// user runtime estimates in scheduling the IBM SP2 with backfilling".
//
// A job that found no earlier place when it was last looked at can only find
// one that reaches into something opened since, and there into a moment at
// which too few processors were free before and enough are now. So a pass
// looks at few jobs: it carries the hull of what it has opened itself and, for
// each job, of what the pass before opened after having looked at that job.
type conservative struct {
	steady
	queue  waiting // in order of submission
	due    timetable
	before []opening // of the pass before, with the hull of all that followed
	opened []opening // of this pass
	vain   vain      // since anything was moved in this pass
	vents  vents     // the same as the openings, on a machine of nodes
	far
}

// opening is a time in which resources came free while a job was moved.
type opening struct {
	entry entry
	hull
}

// hull is a stretch of time in which processors came free: at every moment of
// it at least least were free before, and at most most are now.
type hull struct {
	from, to    int64
	least, most int32
}

func (h hull) join(g hull) hull {
	return hull{min(h.from, g.from), max(h.to, g.to), min(h.least, g.least), max(h.most, g.most)}
}

// nothing is the empty hull.
func nothing() hull { return hull{never, -never, math.MaxInt32, 0} }

// opened is the hull of a stretch in which procs processors just came free.
func opened(p plan, from, to int64, procs int32) hull {
	if from >= to {
		return nothing()
	}
	least, most := p.bounds(from, to)
	return hull{from, to, least - procs, most}
}

func (p *conservative) clone(into policy) policy {
	c, ok := into.(*conservative)
	if !ok {
		c = &conservative{}
	}
	c.queue = p.queue.clone(c.queue)
	c.due = p.due.clone()
	c.before = append(c.before[:0], p.before...)
	c.opened, c.far = c.opened[:0], far{ends: c.far.ends[:0]}
	c.vents = vents{parts: append(c.vents.parts[:0], p.vents.parts...), before: append(c.vents.before[:0], p.vents.before...)}
	return c
}

func (p *conservative) decide(*Machine) {}

func (p *conservative) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	j.key = -j.Priority
	p.queue.insert(j.entry(id))
	if !m.following {
		p.put(m, id, m.now)
	}
}

// lead gives every job its first place. While jobs are only put in, one that
// asks for as much as another cannot have an earlier place than that.
func (p *conservative) lead(m *Machine) {
	survey(m, &p.queue)
	f := newFrontier(&p.queue, m)
	m.recall.begin(m, &p.queue)
	for _, b := range p.queue.blocks {
		for i := range b.jobs {
			j := &m.jobs[b.jobs[i].job]
			p.put(m, b.jobs[i].job, max(m.now, f.least(j)))
			f.learn(j)
		}
	}
	m.recall.end()
}

// put gives a job the earliest place at the time from or later, where it has one.
func (p *conservative) put(m *Machine, id int32, from int64) {
	j := &m.jobs[id]
	if !m.sight.place(m, j, from) {
		return
	}
	if j.planned < never {
		seat(m, j)
	}
	p.due.set(id, j.planned)
}

func (p *conservative) left(m *Machine, id int32) {
	j := &m.jobs[id]
	p.queue.remove(j.entry(id))
	if m.following || m.sight.lost(m.now) {
		return
	}
	p.due.drop(id)
	if j.planned == never {
		return
	}
	m.plan.vacate(j, j.planned, j.planned+j.limit)
	p.freed(m, j.planned, j.planned+j.limit, j)
}

func (p *conservative) freed(m *Machine, from, to int64, j *job) {
	if from = max(from, m.now); m.following || from < to && m.sight.lost(m.now) {
		return
	}
	if nodes, byNode := m.plan.(*nodePlan); byNode {
		if p.vents.gather(from, to, j.shares); !p.over(m) {
			p.compress(m, nodes)
		}
		return
	}
	open := nothing()
	if from < to {
		open = opened(m.plan, from, to, j.procs)
	}
	p.vain = vain{}
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
			for next < len(p.before) && !p.before[next].entry.after(e) {
				next++
			}
			seen := open
			if next < len(p.before) {
				seen = seen.join(p.before[next].hull)
			}
			if seen.least < e.procs && e.procs <= seen.most {
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
	before := min(j.planned, seen.to)
	if p.vain.tells(j, before) {
		return open
	}
	from := max(m.now, seen.from-j.limit+1)
	start := m.plan.earlier(j, from, before)
	if start >= j.planned {
		p.vain = vain{j.Need, j.procs, j.limit, j.planned, before}
		return open
	}
	p.vain = vain{}
	was := j.planned
	j.planned = start
	p.due.set(id, start)
	if was == never {
		m.plan.occupy(j, start, start+j.limit)
		return open
	}
	m.plan.move(j, was)
	left := opened(m.plan, max(was, min(was+j.limit, start+j.limit)), was+j.limit, j.procs)
	p.opened = append(p.opened, opening{j.entry(id), left})
	return open.join(left)
}

// vain is a job for which no earlier place was found: there is none for a job
// that asks for the same or more and must start before this one's place.
type vain struct {
	need    *Need
	procs   int32
	limit   int64
	planned int64
	before  int64
}

func (v *vain) tells(j *job, before int64) bool {
	return v.planned <= j.planned && before <= v.before && v.procs <= j.procs && v.limit <= j.limit && v.need == j.Need
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
	if p.steps == 0 || p.near == never || p.queue.n == 0 {
		return p.due.next()
	}
	return min(p.due.next(), max(m.now, p.near, p.until))
}

func (p *conservative) wake(m *Machine) {
	if p.over(m) && m.now >= p.until {
		p.stride(m)
	}
	for p.due.next() <= m.now {
		id := p.due.pop()
		p.queue.remove(m.jobs[id].entry(id))
		m.begin(id)
		if p.over(m) {
			p.expect(m, id)
		}
	}
}
