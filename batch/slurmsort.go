package batch

import "math"

// calcPeriod is Slurm's PriorityCalcPeriod, in seconds: how often it works out the
// priorities of jobs that wait, which grow with their age.
const calcPeriod = 300

// sorter orders the jobs that wait on a machine.
type sorter struct {
	p *slurm
	m *Machine
}

// sort works out priorities, where age counts and it is time to, and orders the jobs.
func (s sorter) sort() {
	p, m := s.p, s.m
	if p.Multifactor.Age > 0 && m.now >= p.sorted+calcPeriod {
		p.sorted = m.now
		p.queue.each(func(e *entry) { m.jobs[e.job].weight = p.priority(&m.jobs[e.job], m.now) })
		s.repark()
		s.arrange()
	}
	s.untangle()
}

// aged implements policy.
func (p *slurm) aged(m *Machine, priority func(*job) float64) bool {
	if p.Multifactor.Age == 0 {
		return false
	}
	for id := range m.jobs {
		if j := &m.jobs[id]; j.state == queued || j.state == stuck {
			j.Priority = priority(j)
			j.weight = p.priority(j, m.now)
		}
	}
	s := sorter{p, m}
	s.repark()
	s.arrange()
	return true
}

// repark works out the priorities of the jobs that are parked.
func (s sorter) repark() {
	p, m := s.p, s.m
	for i := range m.queues {
		parked := &m.queues[i].parked
		parked.each(func(e *entry) {
			j := &m.jobs[e.job]
			j.key = -p.priority(j, m.now)
			e.key = j.key
		})
		parked.sort()
	}
}

// untangle orders the jobs anew where that is to be done.
func (s sorter) untangle() {
	if s.p.tangled && s.p.moved {
		s.arrange()
	}
}

// arrange orders the jobs anew. Places are made anew from the first job on that has another
// before it.
func (s sorter) arrange() {
	p, m := s.p, s.m
	p.moved = false
	if p.tangled {
		p.number(m, &p.queue)
	} else {
		p.queue.each(func(e *entry) { m.jobs[e.job].key = p.ladder.key(&m.jobs[e.job]) })
	}
	if s.rekey() {
		return
	}
	p.queue.sort()
	for i := range p.lines {
		p.lines[i].sort()
	}
	for _, y := range p.yards {
		y.pending = false // others may be left
		y.queue.sort()
		if n := y.ahead(&y.queue); n < len(y.held) && !p.sparing() { // else all are, by the next pass
			y.renew(m, n)
		}
	}
}

// rekey takes the keys of the jobs over into the lists and tells whether their order is
// still right; where it is not, they are to be sorted.
func (s sorter) rekey() bool {
	p, m := s.p, s.m
	last, right := entry{key: math.Inf(-1)}, true
	for _, b := range p.queue.blocks {
		for i := range b.jobs {
			e := &b.jobs[i]
			e.key = m.jobs[e.job].key
			right = right && !last.after(e)
			last = *e
		}
	}
	again := func(e *entry) { e.key = m.jobs[e.job].key }
	for i := range p.lines {
		p.lines[i].each(again)
	}
	for _, y := range p.yards {
		y.queue.each(again)
	}
	return right
}

// ahead is how many of the jobs that have been tried are the first of the queue, in
// their order.
func (p *places) ahead(queue *waiting) int {
	at := place{}
	for i, id := range p.held {
		e, here, ok := queue.at(at)
		if !ok || e.job != id {
			return i
		}
		at = place{here.b, here.i + 1}
	}
	return len(p.held)
}
