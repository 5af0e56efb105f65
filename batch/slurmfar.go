package batch

import "time"

// far is the part of a run forward behind the time for which passes are exact. There
// time goes by in steps, which get longer the farther ahead they are, and at the begin
// of each it is decided what starts in all of it: see stride. No pass follows an event.
type far struct {
	near   int64  // until when passes are exact
	began  int64  // when the run did
	first  int64  // near is put off until the machine has begun so many jobs
	until  int64  // end of the step; 0: it is not that far yet
	steps  int64  // how many of this length go into the time since near
	belief Belief // how long jobs run
	ends   agenda // of the jobs that run
}

// The steps are a part of the time since passes were last exact, and this at least:
// where jobs end before their limits, which then comes as a surprise, they are shorter.
// So many jobs get places behind the step, so that others leave them room.
const (
	farSteps  = 25
	surprises = 2
	farStep   = 300
	farPlaces = 40
)

// On a small cluster little starts within bf_window: passes are exact for so many starts,
// but for so many times bf_window at most.
const (
	nearStarts = 450
	nearSpans  = 4
)

// foretells implements policy: passes are
// exact as far ahead as places are looked for.
func (p *slurm) foretells(m *Machine, b Belief) {
	p.far = far{near: m.now + int64(p.Window/time.Second), began: m.now, first: m.begun + nearStarts, steps: farSteps, belief: b, ends: p.far.ends[:0]}
	p.ration = rationed(p, m) // of nothing where jobs could give way, whether they do or not
	if p.Preemption.Type != "" && !p.tangled && !(preemptor{p, m}).needed() {
		p.Preemption.Type = "" // passes need not make all places anew
	}
	if !toLimits(b) {
		p.steps *= surprises
	}
}

// strides goes by steps.
type strides struct {
	p *slurm
	m *Machine
}

// begin is when the steps do, those who give way by then having left; never: there are none. Parameters for which all places
// are made anew in each pass are rough in another way: see reserves.
func (w strides) begin() int64 {
	p := w.p
	if p.withholds() || p.Builtin {
		return never
	}
	at := p.near
	for _, d := range p.leaving {
		at = max(at, d.at)
	}
	return at
}

// over tells whether the part of the run is over in which passes are exact. Behind it nobody
// gives way any more.
func (w strides) over() bool {
	p, m := w.p, w.m
	for span := int64(p.Window / time.Second); m.now >= p.near && p.until == 0 && m.begun < p.first && p.near < p.began+nearSpans*span; {
		p.near += max(1, span/stepsOfWindow)
	}
	p.firm = p.firm || m.now >= p.near && w.begin() < never
	return m.now >= w.begin()
}

// next is when something is to be done next in it.
func (w strides) next() int64 {
	p, m := w.p, w.m
	if p.queue.n == 0 {
		return never
	}
	return max(m.now, min(p.yards.due(), p.until))
}

// proceed starts the jobs that are to start now, and begins a step when it is time.
func (w strides) proceed() {
	p, m := w.p, w.m
	if p.until == 0 {
		w.depart()
	}
	for y := p.yards[0]; y.due.next() <= m.now && y.due.next() < p.until; {
		id := y.due.pop()
		if !m.caps.lets(m.jobs[id].takes) { // another has taken it in this step
			y.lift(m, id)
			y.places.take(id)
			continue
		}
		p.take(m, id)
		m.begin(id)
		w.expect(id)
	}
	if m.now >= p.until || p.until == never && m.prompted {
		w.stride()
	}
}

// depart leaves the part in which passes are exact. Behind it there is one yard.
func (w strides) depart() {
	p, m := w.p, w.m
	for _, y := range p.yards {
		y.renew(m, 0)
		y.pending, y.early = false, y.early[:0]
	}
	p.join(m, len(p.yards))
	p.until = m.now
	for id := range m.jobs {
		if m.jobs[id].state == running && m.jobs[id].paused == nil {
			w.expect(int32(id))
		}
	}
}

// runs is how long a job runs that starts at a time.
func (w strides) runs(j *job, at int64) int64 {
	return max(1, w.p.belief.Run(&j.Task, max(0, w.p.began-at)))
}

// expect notes when a job that runs will end.
func (w strides) expect(id int32) {
	p, m := w.p, w.m
	j := &m.jobs[id]
	p.ends.push(due{j.until(j.start, w.runs(j, j.start)), j.order, id})
}

// reveal lets the plan know which jobs end before their limit within the step: all else
// is planned with limits, as Slurm does.
func (w strides) reveal() {
	p, m := w.p, w.m
	for len(p.ends) > 0 && p.ends[0].at < p.until {
		d := p.ends.pop()
		j := &m.jobs[d.job]
		if j.state != running || j.paused != nil || j.order != d.ticket || d.at <= m.now || d.at >= j.start+j.limit {
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
func (w strides) stride() {
	p, m := w.p, w.m
	y := p.yards[0]
	y.renew(m, 0)
	p.last, p.dirty, y.stale, p.refused = m.now, false, false, false
	(sorter{p, m}).sort()
	p.until = m.now + max(p.interval, farStep, (m.now-p.near)/p.steps)
	w.reveal()
	survey(m, &p.queue)
	y.front, y.loose = y.front.anew(&p.queue, m), false
	begins := w.backfill()
	for i := range p.lines {
		begins = w.heads(&p.lines[i]) || begins
	}
	if !begins && m.busy == 0 {
		p.until = y.due.next() // or a reservation ends, or another job comes
	}
}

// backfill gives places and tells whether any begins within the step.
func (w strides) backfill() (begins bool) {
	p, m := w.p, w.m
	p.tally.begin(m, &p.Slurm, nil)
	ahead := 0
	at := place{}
	for tried := 0; tried < p.MaxJobTest; at.i++ {
		if m.caps.any() {
			at, _ = p.queue.open(at, m.caps.lettable())
		}
		e, here, ok := p.queue.at(at)
		if at = here; !ok {
			break
		}
		j := &m.jobs[e.job]
		if !p.tally.tries(&p.Slurm, j) {
			continue
		}
		tried++
		end := p.until
		if ahead < farPlaces {
			end = p.horizon(m.now)
		}
		w.settle(e.job, end)
		if begins = begins || j.planned < p.until; j.planned >= p.until && j.planned < never {
			ahead++
			p.tally.reserve(j)
		}
	}
	return begins
}

// heads gives the first jobs of a partition places within the step, up to one that
// has none, and tells whether there were any.
func (w strides) heads(line *waiting) (begins bool) {
	p, m := w.p, w.m
	for e, at, ok := line.at(place{}); ok; e, at, ok = line.at(place{at.b, at.i + 1}) {
		j := &m.jobs[e.job]
		if !m.caps.lets(j.takes) {
			continue
		}
		if j.planned == never {
			w.settle(e.job, p.until)
		}
		if j.planned >= p.until {
			return begins
		}
		begins = true
	}
	return begins
}

// settle gives a job the earliest place before a time, if there is one. Where that
// begins within the step it is what the job will have: a part of its nodes, and where
// it ends within the step, no longer than it runs.
func (w strides) settle(id int32, end int64) {
	p, m, y := w.p, w.m, w.p.yards[0]
	j := &m.jobs[id]
	j.limit, j.blocks = j.rounded(&p.Slurm), true
	if j.planned = max(m.now, y.front.least(j)); j.planned < end {
		j.planned = m.plan.earliest(j, j.planned, end)
	}
	j.planned = min(j.planned, end)
	y.front.learn(j)
	if j.planned >= end {
		j.planned = never
		return
	}
	y.held = append(y.held, id)
	y.due.set(id, j.planned)
	if j.planned >= p.until {
		m.plan.occupy(j, j.planned, j.planned+j.limit)
		return
	}
	var shares []share
	if nodes, ok := m.plan.(*nodePlan); ok {
		nodes.choose(j, j.planned, &shares)
	}
	j.limit, j.blocks = j.Limit, false
	if end := j.until(j.planned, w.runs(j, j.planned)); end < p.until {
		j.limit = min(end-j.planned, j.limit)
	}
	hold(m.plan, j, j.planned, shares, j.limit)
}

// enter gives a job that comes between two steps a place within this one.
func (w strides) enter(id int32) {
	if y := w.p.yards[0]; y.loose { // something may have come free
		y.front = nil
	}
	if w.m.caps.lets(w.m.jobs[id].takes) {
		w.settle(id, w.p.until)
	}
}
