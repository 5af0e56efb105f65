package batch

import (
	"math"
	"slices"
	"time"
)

// slurm is Slurm's scheduling: at every event the first job of each partition
// is started if it fits (the main loop goes on behind a job that fits and stops
// in a partition at the first that does not, keeping lower ones off its nodes);
// every bf_interval a pass of backfill takes the jobs in order of priority and
// gives each the earliest place within bf_window that moves none ahead of it.
// A place that begins now is a start. Slurm's table of places knows whole nodes
// only: a place keeps all others off its nodes, a running job off what it has.
//
// Slurm makes all places anew in every pass. Here that is done where a job came,
// went or ended before its time since; otherwise the places would be the same,
// and only jobs that come into reach are given one.
type slurm struct {
	Slurm
	interval int64
	queue    waiting   // in order of priority
	lines    []waiting // the same by line
	held     []int32   // jobs that were tried, in order; some without a place
	last     int64     // time of the last pass
	tried    int64     // when all places were last made
	dirty    bool      // something has happened since the last pass
	since    int64     // the first time that it did
	stale    bool      // places must be made anew
	due      int64     // the first place that is not the first of its line, or never
	tally    tally
	front    *frontier // of what was tried since places were last given up
	loose    bool      // some have been since
}

func newSlurm(p Slurm) *slurm {
	p = p.Defaults()
	return &slurm{Slurm: p, interval: int64(p.Interval / time.Second), last: -never, tried: -never, due: never, stale: true, dirty: true, since: -never}
}

func (p *slurm) clone(into policy) policy {
	c, ok := into.(*slurm)
	if !ok {
		c = &slurm{}
	}
	old := *c
	*c = *p
	c.queue, c.held = p.queue.clone(old.queue), append(old.held[:0], p.held...)
	c.lines = make([]waiting, len(p.lines))
	for i := range p.lines {
		c.lines[i] = p.lines[i].clone(waiting{})
	}
	c.tally, c.front = tally{}, nil // both are of one pass
	return c
}

func (p *slurm) lead(*Machine) {}

// enter puts a job in the queue. Age grows alike for all but those that have
// reached the greatest: the key is the priority at the end of time less that.
func (p *slurm) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	j.key = -p.priority(j, m.now)
	j.planned, j.blocks, j.compact = never, true, true
	if res := int64(p.Resolution / time.Second); j.Need == nil || j.Need.to == 0 {
		j.limit = (j.Limit + res - 1) / res * res
	}
	e := j.entry(id)
	p.queue.insert(e)
	for int(j.line) >= len(p.lines) {
		p.lines = append(p.lines, waiting{})
	}
	p.lines[j.line].insert(e)
	if n := len(p.held); n > 0 && !e.after(p.entry(m, p.held[n-1])) {
		p.stale = true // it goes ahead of jobs that have places
	}
	p.happened(m)
}

// happened notes that there is something new for the next pass.
func (p *slurm) happened(m *Machine) {
	if !p.dirty {
		p.dirty, p.since = true, m.now
	}
}

func (p *slurm) entry(m *Machine, id int32) *entry {
	e := m.jobs[id].entry(id)
	return &e
}

// priority is a job's at a time: a whole number, as Slurm's are, so that a little
// more age does not put one ahead of a lower job number.
func (p *slurm) priority(j *job, now int64) float64 {
	const rounding = 1e-4
	return math.Floor(j.Priority + p.Multifactor.age(max(j.Submit, j.Begin), now) + rounding)
}

// sort orders the jobs anew where age counts.
func (p *slurm) sort(m *Machine) {
	if p.Multifactor.Age == 0 {
		return
	}
	old := p.queue
	p.queue, p.lines = waiting{}, make([]waiting, len(p.lines))
	for _, b := range old.blocks {
		for _, e := range b.jobs {
			j := &m.jobs[e.job]
			j.key = -p.priority(j, m.now)
			p.queue.insert(j.entry(e.job))
			p.lines[j.line].insert(j.entry(e.job))
		}
	}
}

func (p *slurm) left(m *Machine, id int32) {
	j := &m.jobs[id]
	p.take(m, id)
	if j.planned < never {
		p.stale = true
	}
	p.lift(m, j)
	j.limit, j.blocks = j.Limit, false
	p.happened(m)
}

// take takes a job out of the queue.
func (p *slurm) take(m *Machine, id int32) {
	j := &m.jobs[id]
	p.queue.remove(j.entry(id))
	p.lines[j.line].remove(j.entry(id))
	if i := slices.Index(p.held, id); i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
	}
}

// lift takes a job's place out of the plan.
func (p *slurm) lift(m *Machine, j *job) {
	if j.planned < never {
		p.loose = true // it may start elsewhere, and leave others room
		m.plan.vacate(j, j.planned, j.planned+j.limit)
		j.planned, j.shares = never, nil
	}
}

func (p *slurm) decide(m *Machine) {
	p.happened(m)
	p.heads(m)
}

func (p *slurm) freed(m *Machine, from, to int64, _ int32) {
	if max(from, m.now) < to {
		p.stale = true // before its time
	}
	p.decide(m)
}

// next is when backfill runs next: an interval after the last pass where
// something has happened since, or when a place is due.
func (p *slurm) next(m *Machine) int64 {
	if p.Builtin || p.queue.n == 0 {
		return never
	}
	at := never
	if p.dirty {
		at = max(p.last+p.interval, p.since+1, m.now)
	}
	if p.due < never {
		at = min(at, max(p.due, p.last+p.interval))
	}
	return at
}

func (p *slurm) wake(m *Machine) {
	at := p.next(m)
	p.heads(m)
	if at <= m.now {
		p.pass(m)
	}
}

// heads starts the first jobs of each partition, in order of priority, while
// they fit; a partition in which one does not is done with.
func (p *slurm) heads(m *Machine) {
	if m.following {
		return
	}
	done := make([]bool, len(p.lines))
	for line := p.first(done); line >= 0; line = p.first(done) {
		e, _ := p.lines[line].head()
		done[line] = !p.head(m, e.job)
		if done[line] && p.Builtin {
			m.shut(m.jobs[e.job].Need)
		}
	}
	m.shut(nil)
}

// first is the line, of those that are not done, whose first job is first of
// all; -1: there is none.
func (p *slurm) first(done []bool) int {
	best, found := -1, entry{}
	for i := range p.lines {
		if e, ok := p.lines[i].head(); ok && !done[i] && (best < 0 || found.after(&e)) {
			best, found = i, e
		}
	}
	return best
}

// head starts a job if it fits now beside the places that others have.
func (p *slurm) head(m *Machine, id int32) bool {
	j := &m.jobs[id]
	was, shares, loose := j.planned, j.shares, p.loose
	if was > m.now && was < never && !p.stale {
		return false // nothing has come free before its time
	}
	p.lift(m, j)
	if m.plan.earliest(j, m.now, m.now+1) != m.now {
		if was < never {
			p.put(m, j, was, shares)
			p.loose = loose
		}
		return false
	}
	p.stale = p.stale || was < never && (was > m.now || j.limit != j.Limit) // it leaves some of its place
	p.start(m, id)
	if was <= p.due {
		p.await(m)
	}
	return true
}

// shut keeps jobs off the nodes that serve a need; nil: off none any more.
func (m *Machine) shut(n *Need) {
	p, byNode := m.plan.(*nodePlan)
	if !byNode {
		return
	}
	if n == nil {
		p.shut = nil
		return
	}
	if p.shut == nil {
		p.shut = make([]bool, len(p.nodes))
	}
	for _, i := range n.on {
		p.shut[i] = n.to == 0 || p.shut[i] // not for jobs that run in a reservation
	}
}

// put gives a job the place it had.
func (p *slurm) put(m *Machine, j *job, at int64, shares []share) {
	if plan, ok := m.plan.(*nodePlan); ok {
		plan.hold(j, at, at+j.limit, shares)
		j.shares = shares
	} else {
		m.plan.occupy(j, at, at+j.limit)
	}
	j.planned = at
}

// start starts a waiting job now.
func (p *slurm) start(m *Machine, id int32) {
	j := &m.jobs[id]
	p.lift(m, j)
	p.take(m, id)
	j.limit, j.blocks = j.Limit, false
	m.plan.occupy(j, m.now, m.now+j.limit)
	m.begin(id)
}

// known sees to it that what is known of how early jobs can start is true: the plan
// has only become fuller since, or nothing is.
func (p *slurm) known(m *Machine) {
	if p.loose || p.front == nil || p.front.strange {
		p.front = p.front.anew(&p.queue, m)
	}
	p.loose = false
}

// pass is one pass of backfill.
func (p *slurm) pass(m *Machine) {
	if m.following {
		return
	}
	p.last, p.dirty = m.now, false
	if p.stale || p.sparing() || p.shrinks(m) {
		p.anew(m)
	} else if m.now-p.tried >= max(int64(p.Window/time.Second)/24, p.interval) {
		p.retry(m)
	}
	if !p.punctual(m) {
		p.anew(m)
	}
	p.reach(m)
	p.await(m)
}

// await finds out when the first place is due.
func (p *slurm) await(m *Machine) {
	p.due = never
	for _, id := range p.held {
		p.due = min(p.due, m.jobs[id].planned)
	}
}

// punctual starts the jobs whose places are due. One whose place began before
// this pass and that does not fit any more, as others have places behind it,
// makes all places void: false.
func (p *slurm) punctual(m *Machine) bool {
	for _, id := range slices.Clone(p.held) {
		j := &m.jobs[id]
		if j.planned > m.now {
			continue
		}
		late := j.planned < m.now
		p.lift(m, j)
		if late && m.plan.earliest(j, m.now, m.now+1) != m.now {
			return false
		}
		p.start(m, id)
	}
	return true
}

// shrinks tells whether a job whose place is due will hold less than that.
func (p *slurm) shrinks(m *Machine) bool {
	return slices.ContainsFunc(p.held, func(id int32) bool {
		j := &m.jobs[id]
		return j.planned <= m.now && j.limit != j.Limit
	})
}

// retry gives the jobs places that were beyond the window and may not be any
// more: nothing has come free since but what has come within the window.
func (p *slurm) retry(m *Machine) {
	from := p.tried + int64(p.Window/time.Second)
	p.tried = m.now
	p.known(m)
	for _, id := range p.held {
		if j := &m.jobs[id]; j.planned == never {
			p.place(m, j, from)
		}
	}
}

// place gives a job the earliest place from a time on within the window, if
// there is one.
func (p *slurm) place(m *Machine, j *job, from int64) {
	end := m.now + int64(p.Window/time.Second)
	if j.planned = p.front.least(j); j.planned < end {
		j.planned = m.plan.earliest(j, max(m.now, from, j.planned), end)
	}
	p.front.learn(j)
	if j.planned >= end {
		j.planned = never
	} else {
		m.plan.occupy(j, j.planned, j.planned+j.limit)
	}
}

// anew takes all places away.
func (p *slurm) anew(m *Machine) {
	for _, id := range p.held {
		p.lift(m, &m.jobs[id])
	}
	p.held, p.stale, p.tried = p.held[:0], false, m.now
	p.loose = true
	p.sort(m)
}
