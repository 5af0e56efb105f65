package batch

import "container/heap"

// conservative gives every job a place in the plan when it is submitted, the
// earliest that moves no other job. When a job ends, every waiting job, in
// order of submission, is lifted out of the plan and put back at the earliest
// place, which is never later than the one it had ("compression").
//
// Mu'alem and Feitelson 2001, "Utilization, predictability, workloads, and
// user runtime estimates in scheduling the IBM SP2 with backfilling".
type conservative struct {
	queue waiting // in order of submission
	due   dueHeap // planned starts; entries of moved jobs are stale
	count int64
}

func (p *conservative) clone() policy {
	return &conservative{p.queue.clone(), append(dueHeap(nil), p.due...), p.count}
}

func (p *conservative) submitted(m *Machine, id int32) {
	j := &m.jobs[id]
	p.queue.insert(j.entry(id))
	j.planned = m.plan.earliest(j, m.now, never)
	p.put(m, id)
}

// put occupies the planned place and remembers when it is due.
func (p *conservative) put(m *Machine, id int32) {
	j := &m.jobs[id]
	m.plan.occupy(j, j.planned, j.planned+j.limit)
	p.count++
	j.ticket = p.count
	heap.Push(&p.due, due{j.planned, j.ticket, id})
}

func (p *conservative) left(m *Machine, id int32) {
	j := &m.jobs[id]
	p.queue.remove(j.entry(id))
	m.plan.vacate(j, j.planned, j.planned+j.limit)
}

func (p *conservative) freed(m *Machine) {
	for e, at, ok := p.queue.at(place{}); ok; e, at, ok = p.queue.at(at) {
		at.i++
		j := &m.jobs[e.job]
		if j.planned <= m.now {
			continue // fixed: it starts at this instant
		}
		if start := m.plan.earlier(j, m.now); start < j.planned {
			m.plan.vacate(j, j.planned, j.planned+j.limit)
			j.planned = start
			p.put(m, e.job)
		}
	}
}

func (p *conservative) next(m *Machine) int64 {
	for len(p.due) > 0 && !p.due[0].live(m) {
		heap.Pop(&p.due)
	}
	if len(p.due) == 0 {
		return never
	}
	return p.due[0].at
}

func (p *conservative) wake(m *Machine) {
	for p.next(m) <= m.now {
		d := heap.Pop(&p.due).(due)
		p.queue.remove(m.jobs[d.job].entry(d.job))
		m.begin(d.job)
	}
}

// due is a planned start.
type due struct {
	at, ticket int64
	job        int32
}

// live tells whether the job still waits for this very start.
func (d due) live(m *Machine) bool {
	j := &m.jobs[d.job]
	return j.state == queued && j.ticket == d.ticket
}

type dueHeap []due

func (h dueHeap) Len() int      { return len(h) }
func (h dueHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h dueHeap) Less(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].ticket < h[k].ticket
}
func (h *dueHeap) Push(x any) { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
