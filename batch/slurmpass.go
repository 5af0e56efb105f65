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
// Slurm makes all places anew in every pass. Here a pass goes through the jobs
// that have been tried in their order, starts those whose places are due, and makes
// places anew from the first on that might get another one: see keep. That is the
// same. It leaves the places of jobs that could not start now for later: see rest.
// A run forward does so as far ahead as bf_window, and is rough behind that: see far.
type slurm struct {
	Slurm
	yards
	far
	interval int64
	queue    waiting   // in order of priority
	lines    []waiting // the same by line
	last     int64     // time of the last pass
	dirty    bool      // something has happened since the last pass
	since    int64     // the first time that it did
	sorted   int64     // when priorities were last worked out
	refused  bool      // some job was passed over, as too many of its kind had been tried
	tally    tally
	charted
	ladder
	yielding
}

func newSlurm(p Slurm) *slurm {
	p = p.Defaults()
	return &slurm{Slurm: p, yielding: yielding{exempted: never}, interval: int64(p.Interval / time.Second), last: -never, far: far{near: never}, dirty: true, since: -never, sorted: -never}
}

func (p *slurm) clone(into policy) policy {
	c, ok := into.(*slurm)
	if !ok {
		c = &slurm{}
	}
	old := *c
	*c = *p
	c.queue, c.yards = p.queue.clone(old.queue), p.yards.clone(old.yards)
	c.lines = make([]waiting, len(p.lines))
	for i := range p.lines {
		c.lines[i] = p.lines[i].clone(waiting{})
	}
	c.tally.clear() // of one pass
	c.chart = old.chart
	c.far.ends = append(old.far.ends[:0], p.far.ends...)
	c.guests = guests{list: old.guests.list[:0], of: old.guests.of[:0]}
	c.leaving, c.owed, c.paused = append(old.leaving[:0], p.leaving...), append(old.owed[:0], p.owed...), append(old.paused[:0], p.paused...)
	return c
}

func (p *slurm) lead(*Machine) {}

// enter puts a job in the queue. Age grows alike for all but those that have
// reached the greatest: the key is the priority at the end of time less that.
func (p *slurm) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	if j.weight = p.priority(j, m.now); p.learn(j.standing) {
		(sorter{p, m}).arrange()
	}
	j.key, p.moved = p.ladder.key(j), true
	p.tally.arrays = p.tally.arrays || j.array > 0
	j.planned, j.blocks, j.compact = never, true, true
	j.limit = j.rounded(&p.Slurm)
	e := j.entry(id)
	y := p.yard(m, j)
	p.queue.insert(e)
	y.queue.insert(e)
	for int(j.line) >= len(p.lines) {
		p.lines = append(p.lines, waiting{})
	}
	p.lines[j.line].insert(e)
	if n := len(y.held); n > 0 && !e.after(m.entry(y.held[n-1])) {
		y.stale = true // it goes ahead of jobs that have places
	}
	p.happened(m)
	if w := (strides{p, m}); w.over() && p.until > 0 {
		w.enter(id)
	}
}

// yard is the yard of a job that comes. Where it makes one of several, or is of one
// that has left places for later, these are made before.
func (p *slurm) yard(m *Machine, j *job) *yard {
	p.whole(m)
	parted := parts(p, m)
	for _, y := range p.yards {
		if !parted || y.meets(j.Need.serve) {
			ground{p, m, y}.settle()
		}
	}
	j.yard = p.yards.of(m, j.Need, parted)
	y := p.yards[j.yard]
	ground{p, m, y}.settle()
	return y
}

// whole makes one yard of all where there may not be several any more.
func (p *slurm) whole(m *Machine) {
	if len(p.yards) < 2 || parts(p, m) {
		return
	}
	for _, y := range p.yards {
		ground{p, m, y}.settle()
	}
	p.join(m, len(p.yards))
}

// ending implements policy.
func (p *slurm) ending(m *Machine, id int32) {
	for _, y := range p.yards {
		ground{p, m, y}.ended(id)
	}
}

// ended implements policy.
func (p *slurm) ended(m *Machine, id int32, until int64) {
	j := &m.jobs[id]
	if m.now < until {
		p.opens(m, j.shares, until)
	}
	m.gates.ended(m.now, j.ID)
	m.gates.punctual(m)
}

// rounded is how long a place for a job lasts.
func (j *job) rounded(p *Slurm) int64 {
	return upTo(j.Limit, int64(p.Resolution/time.Second))
}

// refilled has a pass look whom what jobs share lets now.
func (p *slurm) refilled(m *Machine) { p.happened(m) }

// happened notes that there is something new for the next pass.
func (p *slurm) happened(m *Machine) {
	if !p.dirty {
		p.dirty, p.since = true, m.now
	}
}

// priority is a job's at a time: a whole number, as Slurm's are, so that a little
// more age does not put one ahead of a lower job number.
func (p *Slurm) priority(j *job, now int64) float64 {
	const rounding = 1e-4
	return math.Floor(j.Priority + p.Multifactor.age(j.since, now) + rounding)
}

func (p *slurm) left(m *Machine, id int32) {
	j := &m.jobs[id]
	y := p.yards[j.yard]
	ground{p, m, y}.settle()
	p.take(m, id)
	if j.planned < never || p.refused {
		y.stale = true
	}
	y.lift(m, id)
	j.limit, j.blocks = j.Limit, false
	p.happened(m)
}

// take takes a job out of the queue.
func (p *slurm) take(m *Machine, id int32) {
	j := &m.jobs[id]
	p.moved = true
	p.queue.remove(j.entry(id))
	p.lines[j.line].remove(j.entry(id))
	y := p.yards[j.yard]
	y.queue.remove(j.entry(id))
	y.places.take(id)
}

func (p *slurm) decide(m *Machine) {
	if (strides{p, m}).over() {
		return
	}
	p.happened(m)
	p.heads(m)
	p.repay(m)
}

func (p *slurm) freed(m *Machine, from, to int64, _ *job) {
	if _, byNode := m.plan.(*nodePlan); !byNode && max(from, m.now) < to {
		for _, y := range p.yards {
			y.stale = true // before its time; of nodes see opens
		}
	}
	p.resume(m)
	p.decide(m)
}

// next is when backfill runs next, or the grace of a job that gives way is over, or
// one no longer is exempt from giving way, or steps begin.
func (p *slurm) next(m *Machine) int64 {
	w := strides{p, m}
	if w.over() {
		return w.next()
	}
	at := backfills(p, m)
	at = min(at, (preemptor{p, m}).next())
	if p.queue.n > 0 {
		at = min(at, p.exempted, w.begin())
	}
	return at
}

// backfills is when backfill runs next: an interval after the last pass where
// something has happened since, or when a place is due.
func backfills(p *slurm, m *Machine) int64 {
	if p.Builtin || p.queue.n == 0 {
		return never
	}
	for _, y := range p.yards {
		ground{p, m, y}.look()
	}
	at := p.soonest()
	if p.dirty {
		at = min(at, max(p.last+p.interval, p.since+1, m.now))
	}
	if due := p.yards.due(); due < never {
		at = min(at, max(due, p.last+p.interval))
	}
	return at
}

func (p *slurm) wake(m *Machine) {
	if w := (strides{p, m}); w.over() {
		w.proceed()
		return
	}
	if p.soonest() == m.now && !m.prompted && p.next(m) > m.now {
		return // only to look
	}
	at := backfills(p, m)
	if (preemptor{p, m}).leave() {
		p.happened(m)
		(preemptor{p, m}).claim()
	}
	if p.exempted <= m.now {
		p.exempted = never
		p.happened(m)
	}
	p.heads(m)
	if at <= m.now {
		p.pass(m)
	}
	p.repay(m)
}

// headsDepth is how many jobs that wait for nodes they name the main loop walks past:
// Slurm's default_queue_depth.
const headsDepth = 100

// heads starts the first jobs of each partition, in order of priority, while they fit; a
// partition in which one does not is done with. One that names its nodes holds up nobody
// but on these.
func (p *slurm) heads(m *Machine) {
	if m.following {
		return
	}
	(sorter{p, m}).untangle()
	at, past := make([]place, len(p.lines)), 0
	for line := foremost(p.lines, at); line >= 0; line = foremost(p.lines, at) {
		e, here, _ := p.lines[line].at(at[line])
		if at[line] = here; !m.caps.lets(m.jobs[e.job].takes) {
			if at[line].i++; p.Preemption.Type == "" { // it keeps nobody waiting; nor do others, but that one gives way to them before it is their turn
				at[line], _ = p.lines[line].open(at[line], m.caps.lettable())
			}
			continue
		}
		if p.head(m, e.job) {
			continue
		}
		n := m.jobs[e.job].Need
		if at[line].i++; n == nil || !n.named || past == headsDepth {
			at[line] = place{b: len(p.lines[line].blocks)}
		} else {
			past++
		}
		if p.Builtin || p.charts() {
			shut(m, n)
		}
	}
	shut(m, nil)
}

// foremost is the line whose job, at a place each, is first of all; -1: there is none.
func foremost(lines []waiting, at []place) int {
	best, found := -1, entry{}
	for i := range lines {
		if e, _, ok := lines[i].at(at[i]); ok && (best < 0 || found.after(&e)) {
			best, found = i, e
		}
	}
	return best
}

// head starts a job if it fits now beside the places that others have.
func (p *slurm) head(m *Machine, id int32) bool {
	j := &m.jobs[id]
	y := p.yards[j.yard]
	g := ground{p, m, y}
	if j.Most > 0 {
		g.settle()
	}
	was, loose, shrinks := j.planned, y.loose, j.shrinks()
	if was > m.now && was < never && !y.stale && len(y.opened) == 0 && p.Preemption.Type == "" {
		return false // nothing has come free before its time
	}
	shares := y.lift(m, id)
	fits := m.plan.earliest(j, m.now, m.now+1) == m.now
	if !fits || y.pending && !g.alone(j, was, shares) { // it may not fit beside all places
		if !fits && (preemptor{p, m}).start(id) {
			return true
		}
		if was < never {
			y.put(m, id, was, shares)
		}
		y.loose = loose
		return fits && g.stands(id) && p.head(m, id)
	}
	if j.Most > 0 {
		return g.entire(id)
	}
	if y.pending {
		y.remains(j, m.now, shares)
	}
	starter := *m.entry(id)
	if was == never {
		starter = allJobs() // those behind had not reckoned with it either
	}
	p.start(m, id, starter)
	if nodes, ok := m.plan.(*nodePlan); !ok {
		y.stale = y.stale || was < never && (was > m.now || shrinks) // it leaves some of its place
	} else if p.refused || was != m.now && was < never || was == m.now && (shrinks || !slices.Equal(shares, j.shares)) {
		y.stale = true
	} else if was < never {
		y.opened, y.loose = append(y.opened, nodes.leaves(j)...), loose
	}
	return true
}

// entire starts a job that fits now with its least limit, if it does with all of it, whatever
// places there are: the main loop knows none, and backfill gives the least.
func (g ground) entire(id int32) bool {
	p, m := g.p, g.m
	j := &m.jobs[id]
	least, planned := j.Limit, j.limit
	for _, y := range p.yards {
		ground{p, m, y}.settle()
		y.renew(m, 0)
		y.stale = true
	}
	p.happened(m)
	most := j.Most
	if j.Latest > 0 { // in whole minutes, up to the deadline
		most = max(least, min(most, (j.Latest+least-m.now)/60*60))
	}
	j.Limit, j.limit = most, most
	if m.plan.earliest(j, m.now, m.now+1) == m.now {
		p.start(m, id, allJobs())
		return true
	}
	j.Limit, j.limit = least, planned
	return false
}

// shut keeps jobs off the nodes of the partition of one that waits, or off those that it
// names; nil: off none any more.
func shut(m *Machine, n *Need) {
	p, byNode := m.plan.(*nodePlan)
	if !byNode {
		return
	}
	if n == nil {
		if p.shut != nil {
			p.rooms.version++ // who did not fit beside shut nodes may fit now
		}
		p.shut = nil
		return
	}
	if p.shut == nil {
		p.shut = make([]bool, len(p.nodes))
	}
	for _, i := range n.around {
		p.shut[i] = !n.apart || p.shut[i] // who waits for room in a reservation holds up nobody beside it
	}
}

// start starts a waiting job now that has no place in the plan; those ahead of one had not
// reckoned with that.
func (p *slurm) start(m *Machine, id int32, behind entry) {
	j := &m.jobs[id]
	p.take(m, id)
	j.limit, j.blocks = j.Limit, false
	m.plan.occupy(j, m.now, m.now+j.limit)
	m.begin(id)
	p.yards[j.yard].takes(m, id, behind)
}

// pass is one pass of backfill.
func (p *slurm) pass(m *Machine) {
	if m.following {
		return
	}
	p.last, p.dirty = m.now, false
	p.whole(m)
	(sorter{p, m}).sort()
	if p.charts() {
		ground{p, m, p.yards[0]}.charted()
		return
	}
	first, begun := len(m.starts), m.begun
	for _, y := range p.yards {
		ground{p, m, y}.pass()
	}
	for len(p.yards) > 1 && m.begun > begun { // for each that started another is tried
		begun = m.begun
		for _, y := range p.yards {
			ground{p, m, y}.extend()
		}
	}
	if len(p.yards) > 1 {
		inOrder(m, m.starts[first:])
	}
}

// shrinks tells whether a job will not hold its place to the end.
func (j *job) shrinks() bool { return j.limit != j.Limit }
