package batch

import "math"

// calcPeriod is Slurm's PriorityCalcPeriod, in seconds: how often it works out the
// priorities of jobs that wait, which grow with their age.
const calcPeriod = 300

// sort works out priorities and orders the jobs by them, where age counts and it is
// time to. Places are made anew from the first job on that has another before it.
func (p *slurm) sort(m *Machine) {
	if p.Multifactor.Age == 0 || m.now < p.sorted+calcPeriod {
		return
	}
	p.sorted = m.now
	if p.rekey(m) {
		return
	}
	p.queue.sort()
	for i := range p.lines {
		p.lines[i].sort()
	}
	for _, y := range p.yards {
		y.pending = false // others may be left
		y.queue.sort()
		if n := y.ahead(&y.queue); n < len(y.held) {
			y.renew(m, n)
		}
	}
}

// rekey works out the priorities and tells whether the order is still right; where
// it is not, the lists are to be sorted.
func (p *slurm) rekey(m *Machine) bool {
	last, right := entry{key: math.Inf(-1)}, true
	for _, b := range p.queue.blocks {
		for i := range b.jobs {
			e := &b.jobs[i]
			j := &m.jobs[e.job]
			j.key = -p.priority(j, m.now)
			e.key = j.key
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
	for i := range m.queues {
		parked := &m.queues[i].parked
		parked.each(func(e *entry) { m.jobs[e.job].key = -p.priority(&m.jobs[e.job], m.now) })
		parked.each(again)
		parked.sort()
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
