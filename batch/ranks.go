package batch

import "slices"

// ranks are the jobs that wait, in order of priority and in the other orders in
// which backfill looks for them.
type ranks struct {
	queue    waiting // in order of priority
	shortest bool    // backfill the shortest first, not by priority
	byLimit  waiting // the queue in order of limit, where shortest
	kinds    []alike // the list that is backfilled from, by Need.id
	lines    []int   // jobs in the queue, by line
}

// alike are the waiting jobs that have one need.
type alike struct {
	waiting
	need *Need
}

// clone copies the ranks into the memory of an older copy.
func (p *ranks) clone(old ranks) ranks {
	c := ranks{p.queue.clone(old.queue), p.shortest, p.byLimit.clone(old.byLimit), nil, append(old.lines[:0], p.lines...)}
	c.kinds = slices.Grow(old.kinds[:0], len(p.kinds))[:len(p.kinds)]
	for i := range p.kinds {
		c.kinds[i] = alike{p.kinds[i].clone(c.kinds[i].waiting), p.kinds[i].need}
	}
	return c
}

// insert puts a job in the queue.
func (p *ranks) insert(j *job, e entry) {
	p.queue.insert(e)
	for int(j.line) >= len(p.lines) {
		p.lines = append(p.lines, 0)
	}
	p.lines[j.line]++
	if p.shortest {
		p.byLimit.insert(byLimit(e))
	}
	p.kind(j, e)
}

// kind puts a job in the list of its kind.
func (p *ranks) kind(j *job, e entry) {
	if j.Need == nil {
		return
	}
	for j.Need.id >= len(p.kinds) {
		p.kinds = append(p.kinds, alike{})
	}
	k := &p.kinds[j.Need.id]
	k.need = j.Need
	k.insert(p.filled(e))
}

// filled is the entry of a job in the list that is backfilled from.
func (p *ranks) filled(e entry) entry {
	if p.shortest {
		return byLimit(e)
	}
	return e
}

// remove takes a job out of the queue.
func (p *ranks) remove(j *job, id int32) {
	e := j.entry(id)
	p.queue.remove(e)
	p.forget(j, e)
}

// removeAt takes out the job at a place of the queue.
func (p *ranks) removeAt(j *job, e entry, at place) {
	p.queue.removeAt(at)
	p.forget(j, e)
}

// forget takes a job that is not in the queue any more out of the other lists.
func (p *ranks) forget(j *job, e entry) {
	p.lines[j.line]--
	if p.shortest {
		p.byLimit.remove(byLimit(e))
	}
	if j.Need != nil {
		p.kinds[j.Need.id].remove(p.filled(e))
	}
}

// byLimit is the entry of a job in the shortest-first list.
func byLimit(e entry) entry {
	e.key = float64(e.limit)
	return e
}

// sort works out every priority anew.
func (p *ranks) sort(m *Machine, w Weights) {
	old := p.queue
	p.queue = waiting{}
	if !p.shortest {
		clear(p.kinds)
	}
	for _, b := range old.blocks {
		for _, e := range b.jobs {
			j := &m.jobs[e.job]
			j.key = -w.priority(j, m.now)
			p.queue.insert(j.entry(e.job))
			if !p.shortest {
				p.kind(j, j.entry(e.job))
			}
		}
	}
}
