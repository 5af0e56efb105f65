package batch

import "slices"

// combinations bounds the sets of jobs GREEDY looks at in one pass.
const combinations = 2000

// weigh is the job's worth by BACKFILLMETRIC.
func (p *Maui) weigh(j *job) int64 {
	switch p.Metric {
	case "SECONDS":
		return j.limit
	case "PROCSECONDS":
		return j.limit * int64(j.procs)
	}
	return int64(j.procs)
}

// single tells whether one reservation is all there can be in a pass.
func (p *Maui) single() bool {
	return (p.ReservationDepth == 0 || p.ReservationDepth == 1) && p.ReservationPolicy != "NEVER" &&
		p.Backfill != "BESTFIT" && p.Backfill != "GREEDY" && p.ReservationPolicy != "HIGHEST"
}

// candidates lists, in order of priority, the jobs without a reservation that
// fit now, of the first BackfillDepth that wait.
func (p *backfill) candidates(m *Machine) (list []int32) {
	end := p.depthEnd()
	var exact bool
	p.ws, exact = m.plan.windows(m.now, p.ws)
	for at, ok := p.queue.next(place{}, p.ws); ok; at, ok = p.queue.next(at, p.ws) {
		e, _, _ := p.queue.at(at)
		if end.job >= 0 && e.compare(end) > 0 {
			break
		}
		if exact || m.fits(e.job) {
			list = append(list, e.job)
		}
		at.i++
	}
	return list
}

// fits tells whether a waiting job could start now.
func (m *Machine) fits(id int32) bool {
	return m.plan.fits(&m.jobs[id], m.now)
}

// depthEnd is the last of the jobs without a reservation that BackfillDepth lets in; its
// job is -1 where all are in.
func (p *backfill) depthEnd() entry {
	left := p.BackfillDepth
	if left == 0 {
		return entry{job: -1}
	}
	for _, b := range p.queue.blocks {
		for _, e := range b.jobs {
			if slices.Contains(p.held, e.job) {
				continue
			}
			if left--; left == 0 {
				return e
			}
		}
	}
	return entry{job: -1}
}

// bestFit starts, again and again, the job with the greatest metric of those
// that still fit; of equals the one of higher priority.
func (p *backfill) bestFit(m *Machine) {
	for list := p.candidates(m); len(list) > 0; list = p.candidates(m) {
		best := list[0]
		for _, id := range list[1:] {
			if p.weigh(&m.jobs[id]) > p.weigh(&m.jobs[best]) {
				best = id
			}
		}
		p.take(m, best)
	}
}

// take starts a waiting job wherever it stands in the queue.
func (p *backfill) take(m *Machine, id int32) {
	p.drop(m, id)
	p.launch(m, id)
}

// greedy starts the set of jobs with the greatest total metric among the
// first so many sets in depth-first order, jobs of higher priority first.
func (p *backfill) greedy(m *Machine) {
	list := p.candidates(m)
	if len(list) == 0 {
		return
	}
	s := search{p: p, m: m, list: list, left: combinations}
	if p.Metric == "" || p.Metric == "PROCS" {
		s.perfect = int64(p.ws[0].procs)
	}
	if p.Search != "" {
		waiters{p, m, list}.start(s.perfect)
		return
	}
	s.visit(0, 0)
	for _, id := range s.best {
		p.take(m, id)
	}
}

// search is the depth-first search of greedy.
type search struct {
	p       *backfill
	m       *Machine
	list    []int32
	chosen  []int32
	best    []int32
	total   int64 // metric of best
	perfect int64 // a total that cannot be beaten; 0: not known
	left    int   // sets that may still be looked at
}

// visit extends the chosen set, whose metric is sum, by jobs from place i on.
// It returns false when the search is over.
func (s *search) visit(i int, sum int64) bool {
	if sum > s.total {
		s.total, s.best = sum, append(s.best[:0], s.chosen...)
	}
	for ; i < len(s.list); i++ {
		if s.perfect > 0 && s.total >= s.perfect || s.left <= 0 {
			return false
		}
		id := s.list[i]
		if !s.m.fits(id) {
			continue
		}
		s.left--
		j := &s.m.jobs[id]
		s.m.plan.occupy(j, s.m.now, s.m.now+j.limit)
		s.chosen = append(s.chosen, id)
		more := s.visit(i+1, sum+s.p.weigh(j))
		s.chosen = s.chosen[:len(s.chosen)-1]
		s.m.plan.vacate(j, s.m.now, s.m.now+j.limit)
		if !more {
			return false
		}
	}
	return true
}
