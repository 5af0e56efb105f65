package batch

import "slices"

// places are the jobs that Slurm's backfill has tried, in order, and the places
// in the future of those that have one.
type places struct {
	held   []int32
	due    timetable
	front  *frontier // of how early jobs can start, since a place was last given up
	loose  bool      // one has been since
	opened []outlet  // since the last pass
	taken  []outlet  // since the last pass made places
	offer  offer
}

// clone copies the places into the memory of an older copy. What is known of how
// early jobs can start is not taken over.
func (p *places) clone(old places) places {
	return places{held: append(old.held[:0], p.held...), due: p.due.clone(), loose: p.loose, opened: append(old.opened[:0], p.opened...), taken: append(old.taken[:0], p.taken...)}
}

// give gives a job the earliest place before a time, if there is one. One that begins
// at the time of the pass is not put into the plan: the job is to be started.
func (p *places) give(m *Machine, id int32, pass, end int64) {
	j := &m.jobs[id]
	if j.planned = p.front.least(j); j.planned < end {
		j.planned = m.plan.earliest(j, max(m.now, j.planned), end)
	}
	p.front.learn(j)
	switch {
	case j.planned >= end:
		j.planned = never
	case j.planned > pass:
		m.plan.occupy(j, j.planned, j.planned+j.limit)
		p.due.set(id, j.planned)
	}
}

// put gives a job the place it had.
func (p *places) put(m *Machine, id int32, at int64, shares []share) {
	j := &m.jobs[id]
	hold(m.plan, j, at, shares, j.limit)
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

// renew takes the places away from one of the jobs on.
func (p *places) renew(m *Machine, from int) {
	for _, id := range p.held[from:] {
		p.lift(m, id)
	}
	p.held, p.loose = p.held[:from], true
}

// hold puts a job where it is known to be.
func hold(p plan, j *job, from int64, shares []share, limit int64) {
	if nodes, ok := p.(*nodePlan); ok {
		nodes.hold(j, from, from+limit, shares)
		j.shares = shares
	} else {
		p.occupy(j, from, from+limit)
	}
}

// known sees to it that what is known of how early jobs can start is true: the plan
// has only become fuller since, or nothing is but of those that have been tried, where
// no place of theirs could be earlier. Those without one have none before a time.
func (p *places) known(m *Machine, queue *waiting, before int64) {
	if p.loose || p.front == nil || p.front.strange {
		p.front = p.front.anew(queue, m)
		for _, id := range p.held {
			j := &m.jobs[id]
			at := j.planned
			j.planned = min(at, before)
			p.front.learn(j)
			j.planned = at
		}
	}
	p.loose = false
}
