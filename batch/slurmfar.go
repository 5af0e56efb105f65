package batch

import "time"

// far is the part of a run forward behind the time for which passes are exact. There
// time goes by in steps, which get longer the farther ahead they are, and at the begin
// of each it is decided what starts in all of it: see stride. No pass follows an event.
type far struct {
	near   int64  // until when passes are exact
	began  int64  // when the run did
	until  int64  // end of the step; 0: it is not that far yet
	belief Belief // how long jobs run
	ends   agenda // of the jobs that run
}

// The steps are a part of the time since passes were last exact, and this at least;
// so many jobs get places behind the step, so that others leave them room.
const (
	farSteps  = 25
	farStep   = 300
	farPlaces = 40
)

// foretells makes ready for a run forward in which jobs run as believed: passes are
// exact as far ahead as places are looked for.
func (p *slurm) foretells(m *Machine, b Belief) {
	p.far = far{near: m.now + int64(p.Window/time.Second), began: m.now, belief: b, ends: p.far.ends[:0]}
}

// beyond tells whether the machine has come to that part of the run. Parameters for
// which all places are made anew in each pass have it only in part: see reserves.
func (p *slurm) beyond(m *Machine) bool { return m.now >= p.near && p.coarse() }

// coarse tells whether there is such a part.
func (p *slurm) coarse() bool { return !p.sparing() && !p.Builtin }

// after is when something is to be done next in it.
func (p *slurm) after(m *Machine) int64 {
	if p.queue.n == 0 {
		return never
	}
	return max(m.now, min(p.due.next(), p.until))
}

// proceed starts the jobs that are to start now, and begins a step when it is time.
func (p *slurm) proceed(m *Machine) {
	if p.until == 0 {
		p.depart(m)
	}
	for p.due.next() <= m.now && p.due.next() < p.until {
		id := p.due.pop()
		p.take(m, id)
		m.begin(id)
		p.expect(m, id)
	}
	if m.now >= p.until || p.until == never && m.prompted {
		p.stride(m)
	}
}

// depart leaves the part in which passes are exact.
func (p *slurm) depart(m *Machine) {
	p.renew(m, 0)
	p.pending, p.until = false, m.now
	for id := range m.jobs {
		if m.jobs[id].state == running {
			p.expect(m, int32(id))
		}
	}
}

// runs is how long a job runs that starts at a time.
func (f *far) runs(j *job, at int64) int64 { return max(1, f.belief.Run(&j.Task, max(0, f.began-at))) }

// expect notes when a job that runs will end.
func (p *slurm) expect(m *Machine, id int32) {
	j := &m.jobs[id]
	p.ends.push(due{j.start + p.runs(j, j.start), j.order, id})
}

// reveal lets the plan know which jobs end before their limit within the step: all else
// is planned with limits, as Slurm does.
func (p *slurm) reveal(m *Machine) {
	for len(p.ends) > 0 && p.ends[0].at < p.until {
		d := p.ends.pop()
		j := &m.jobs[d.job]
		if j.state != running || d.at <= m.now || d.at >= j.start+j.limit {
			continue
		}
		shares := j.shares
		m.plan.vacate(j, m.now, j.start+j.limit)
		j.limit = d.at - j.start
		hold(m.plan, j, m.now, shares, d.at-m.now)
	}
}

// stride begins a step: the jobs that a pass would try get places, in order, and those
// whose places begin within the step keep them. Slurm's main loop comes last: the
// first jobs of each partition start within the step, up to one that does not.
func (p *slurm) stride(m *Machine) {
	p.renew(m, 0)
	p.last, p.dirty, p.stale, p.refused = m.now, false, false, false
	p.sort(m)
	p.until = m.now + max(p.interval, farStep, (m.now-p.near)/farSteps)
	p.reveal(m)
	survey(m, &p.queue)
	p.front, p.loose = p.front.anew(&p.queue, m), false
	begins := p.backfillFar(m)
	for i := range p.lines {
		begins = p.headsFar(m, &p.lines[i]) || begins
	}
	if !begins && m.busy == 0 {
		p.until = p.due.next() // or a reservation ends, or another job comes
	}
}

// backfillFar gives places and tells whether any begins within the step.
func (p *slurm) backfillFar(m *Machine) (begins bool) {
	p.tally.begin(m, &p.Slurm, nil)
	ahead := 0
	e, at, ok := p.queue.at(place{})
	for tried := 0; ok && tried < p.MaxJobTest; e, at, ok = p.queue.at(place{at.b, at.i + 1}) {
		j := &m.jobs[e.job]
		if !p.tries(j) {
			continue
		}
		tried++
		end := p.until
		if ahead < farPlaces {
			end = p.horizon(m.now)
		}
		p.settleFar(m, e.job, end)
		if begins = begins || j.planned < p.until; j.planned >= p.until && j.planned < never {
			ahead++
			p.tally.reserve(j)
		}
	}
	return begins
}

// headsFar gives the first jobs of a partition places within the step, up to one that
// has none, and tells whether there were any.
func (p *slurm) headsFar(m *Machine, line *waiting) (begins bool) {
	for e, at, ok := line.at(place{}); ok; e, at, ok = line.at(place{at.b, at.i + 1}) {
		j := &m.jobs[e.job]
		if j.planned == never {
			p.settleFar(m, e.job, p.until)
		}
		if j.planned >= p.until {
			return begins
		}
		begins = true
	}
	return begins
}

// settleFar gives a job the earliest place before a time, if there is one. Where that
// begins within the step it is what the job will have: a part of its nodes, and where
// it ends within the step, no longer than it runs.
func (p *slurm) settleFar(m *Machine, id int32, end int64) {
	j := &m.jobs[id]
	j.limit, j.blocks = p.rounded(j), true
	if j.planned = max(m.now, p.front.least(j)); j.planned < end {
		j.planned = m.plan.earliest(j, j.planned, end)
	}
	j.planned = min(j.planned, end)
	p.front.learn(j)
	if j.planned >= end {
		j.planned = never
		return
	}
	p.held = append(p.held, id)
	p.due.set(id, j.planned)
	if j.planned >= p.until {
		m.plan.occupy(j, j.planned, j.planned+j.limit)
		return
	}
	var shares []share
	if nodes, ok := m.plan.(*nodePlan); ok {
		nodes.choose(j, j.planned, &shares)
	}
	j.limit, j.blocks = j.Limit, false
	if run := p.runs(j, j.planned); j.planned+run < p.until {
		j.limit = min(run, j.limit)
	}
	hold(m.plan, j, j.planned, shares, j.limit)
}
