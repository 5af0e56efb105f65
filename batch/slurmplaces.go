package batch

import "slices"

// places are the jobs that Slurm's backfill has tried, in order, and the places
// in the future of those that have one.
type places struct {
	held  []int32
	due   timetable
	front *frontier // of how early jobs can start, since a place was last given up
	loose bool      // one has been since
	rests []int32   // nodes of places of which jobs that started there have left something, since the last pass
}

// clone copies the places into the memory of an older copy. What is known of how
// early jobs can start is not taken over.
func (p *places) clone(old places) places {
	return places{held: append(old.held[:0], p.held...), due: p.due.clone(), loose: p.loose, rests: append(old.rests[:0], p.rests...)}
}

// give gives a job the earliest place from a time on and before another, if there
// is one. One that begins now is not put into the plan: the job is to be started.
func (p *places) give(m *Machine, id int32, from, end int64) {
	j := &m.jobs[id]
	if j.planned = p.front.least(j); j.planned < end {
		j.planned = m.plan.earliest(j, max(from, j.planned), end)
	}
	p.front.learn(j)
	switch {
	case j.planned >= end:
		j.planned = never
	case j.planned > m.now:
		m.plan.occupy(j, j.planned, j.planned+j.limit)
		p.due.set(id, j.planned)
	}
}

// put gives a job the place it had.
func (p *places) put(m *Machine, id int32, at int64, shares []share) {
	j := &m.jobs[id]
	if plan, ok := m.plan.(*nodePlan); ok {
		plan.hold(j, at, at+j.limit, shares)
		j.shares = shares
	} else {
		m.plan.occupy(j, at, at+j.limit)
	}
	j.planned = at
	p.due.set(id, at)
}

// lift takes a job's place out of the plan and returns the nodes it was on.
func (p *places) lift(m *Machine, id int32) (was []share) {
	j := &m.jobs[id]
	if j.planned == never {
		return nil
	}
	p.loose = true // it may start elsewhere, and leave others room
	m.plan.vacate(j, j.planned, j.planned+j.limit)
	if p.due.has(id) {
		p.due.drop(id)
	}
	was = j.shares
	j.planned, j.shares = never, nil
	return was
}

// take takes a job out of those that were tried.
func (p *places) take(id int32) {
	if i := slices.Index(p.held, id); i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
	}
}

// clear takes all places away.
func (p *places) clear(m *Machine) {
	for _, id := range p.held {
		p.lift(m, id)
	}
	p.held, p.loose = p.held[:0], true
}

// ripe takes the jobs whose places are due out of the timetable, though not out
// of the plan, in order of priority.
func (p *places) ripe(m *Machine) (list []entry) {
	for p.due.next() <= m.now {
		list = append(list, *m.entry(p.due.pop()))
	}
	slices.SortFunc(list, entry.compare)
	return list
}

// leave notes the nodes of a place of which a job that has started holds not all.
func (p *places) leave(m *Machine, j *job, was []share) {
	nodes, ok := m.plan.(*nodePlan)
	if !ok {
		return
	}
	for i, s := range was {
		if i >= len(j.shares) || j.shares[i] != s || s.procs < nodes.nodes[s.node].have.procs {
			p.rests = append(p.rests, s.node)
		}
	}
}

// known sees to it that what is known of how early jobs can start is true: the plan
// has only become fuller since, or nothing is.
func (p *places) known(m *Machine, queue *waiting) {
	if p.loose || p.front == nil || p.front.strange {
		p.front = p.front.anew(queue, m)
	}
	p.loose = false
}

// helps tells whether there are enough processors now for a job with a place, and
// one of some nodes has room for a part of it, beside what is planned there but
// its own place.
func (p *nodePlan) helps(j *job, nodes []int32) bool {
	r := p.room(j.Need)
	if r.total < int64(j.procs) {
		return false
	}
	for _, n := range nodes {
		if r.free[n] > 0 && (p.nodes[n].room(p.now, p.now+j.limit, j.Need) > 0 || j.on(n)) {
			return true
		}
	}
	return false
}

// on tells whether a job has a part of a node.
func (j *job) on(node int32) bool {
	return slices.ContainsFunc(j.shares, func(s share) bool { return s.node == node })
}

// blocks tells whether the place of a job may keep itself from starting now.
func (p *nodePlan) blocks(j *job) bool {
	r := p.room(j.Need)
	return j.planned < p.now+j.limit && slices.ContainsFunc(j.shares, func(s share) bool { return r.free[s.node] > 0 })
}
