package batch

import (
	"maps"
	"slices"
)

// backfill is the family of policies that replan at every event: start jobs
// in order of priority while they fit; give the first that do not fit a
// reservation each, as early as possible; start of the rest what fits now
// without moving a reservation.
//
// One reservation and first fit is EASY backfilling (Lifka 1995, "The ANL/IBM
// SP scheduling system"); no backfill is first come, first served; any depth
// and choice is Maui (Jackson, Snell, Clement 2001, "Core algorithms of the
// Maui scheduler").
type backfill struct {
	Maui
	depth    int
	queue    waiting            // in order of priority
	shortest bool               // backfill the shortest first, not by priority
	byLimit  waiting            // the queue in order of limit, where shortest
	kinds    []waiting          // the list that is backfilled from, by Need.id
	lines    []int              // jobs in the queue, by line
	keep     map[int32]struct{} // jobs that once held one, under HIGHEST
	light    bool               // the reservation of this pass is not in the plan: see look
	held     []int32            // jobs that hold a reservation in this pass
	given    []int              // reservations in this pass by line
	counted  bool               // a start was counted as a reservation in this pass
	settled  bool               // held and given are what the next pass would find: see settle
	ws       windows
	tips     []tip     // memory for fillNodes
	free     []int32   // processors of all nodes that are free as it begins, and of each set of them
	due      timetable // of the reservations, where all that wait have one
}

func newBackfill(p Maui, shortest bool) *backfill {
	b := &backfill{Maui: p, depth: p.ReservationDepth, shortest: shortest, keep: map[int32]struct{}{}}
	switch {
	case p.ReservationPolicy == "NEVER":
		b.depth = 0
	case b.depth == 0:
		b.depth = 1
	case b.depth == Unlimited:
		b.depth = 1 << 30
	}
	return b
}

func (p *backfill) clone(into policy) policy {
	c, ok := into.(*backfill)
	if !ok {
		c = &backfill{}
	}
	old := *c
	*c = *p
	c.queue, c.byLimit = p.queue.clone(old.queue), p.byLimit.clone(old.byLimit)
	c.kinds = slices.Grow(old.kinds[:0], len(p.kinds))[:len(p.kinds)]
	for i := range p.kinds {
		c.kinds[i] = p.kinds[i].clone(c.kinds[i])
	}
	c.lines = append(old.lines[:0], p.lines...)
	c.keep, c.due = maps.Clone(p.keep), p.due.clone()
	c.held, c.ws, c.tips, c.free = append(old.held[:0], p.held...), old.ws, old.tips, old.free
	c.given = append(old.given[:0], p.given...)
	return c
}

func (p *backfill) lead(*Machine) {}

func (p *backfill) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	j.key = -p.priority(j, m.now)
	e := j.entry(id)
	p.insert(j, e)
	if p.settled && (p.given[min(int(j.line), len(p.given)-1)] < p.depth || int(j.line) >= len(p.given) || !p.behind(m, e)) {
		p.unsettle(m)
	}
}

// behind tells whether a job comes after all that hold a reservation.
func (p *backfill) behind(m *Machine, e entry) bool {
	for _, id := range p.held {
		if first := m.jobs[id].entry(id); first.after(&e) {
			return false
		}
	}
	return true
}

func (p *backfill) left(m *Machine, id int32) {
	p.unsettle(m)
	p.drop(m, id)
}

// insert puts a job in the queue.
func (p *backfill) insert(j *job, e entry) {
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
func (p *backfill) kind(j *job, e entry) {
	if j.Need == nil {
		return
	}
	for j.Need.id >= len(p.kinds) {
		p.kinds = append(p.kinds, waiting{})
	}
	p.kinds[j.Need.id].insert(p.filled(e))
}

// filled is the entry of a job in the list that is backfilled from.
func (p *backfill) filled(e entry) entry {
	if p.shortest {
		return byLimit(e)
	}
	return e
}

// drop takes a job out of the queue.
func (p *backfill) drop(m *Machine, id int32) {
	j := &m.jobs[id]
	e := j.entry(id)
	p.queue.remove(e)
	p.lines[j.line]--
	if p.shortest {
		p.byLimit.remove(byLimit(e))
	}
	p.unkind(j, e)
	delete(p.keep, id)
}

// unkind takes a job out of the list of its kind.
func (p *backfill) unkind(j *job, e entry) {
	if j.Need != nil {
		p.kinds[j.Need.id].remove(p.filled(e))
	}
}

func (p *backfill) decide(m *Machine)     { p.pass(m) }
func (p *backfill) next(m *Machine) int64 { return never }

func (p *backfill) freed(m *Machine, from, to int64, _ int32) {
	if max(from, m.now) < to {
		p.unsettle(m)
	}
	p.pass(m)
}

func (p *backfill) wake(m *Machine) {
	p.unsettle(m)
	p.pass(m)
}

// byLimit is the entry of a job in the shortest-first list.
func byLimit(e entry) entry {
	e.key = float64(e.limit)
	return e
}

// pass is one scheduling iteration.
func (p *backfill) pass(m *Machine) {
	if m.following {
		return
	}
	if p.Weights.changing() {
		p.sort(m)
	}
	if !p.holds(m) && !p.punctual(m) {
		p.unsettle(m)
		p.light = p.single() && m.steady()
		p.walk(m)
		p.settle(m)
	}
	if p.queue.n > len(p.held) {
		p.choose(m)
	}
	if !p.settled {
		p.release(m)
	}
}

// settle notes that the reservations just made may stay as they are until
// something happens by which they could be others: a job that comes before them
// or leaves, something that comes free before its time, a reservation of the
// machine that begins or ends, or that one of them is due. What starts beside
// them makes none of them earlier or later: each stays on its nodes. Where a start was counted as a reservation,
// the next pass may make another.
func (p *backfill) settle(m *Machine) {
	_, byNode := m.plan.(*nodePlan)
	p.settled = byNode && (!p.counted || p.all()) && p.depth > 0 && len(p.held) > 0 && !p.Weights.changing()
	if p.settled && p.all() {
		p.due = timetable{}
		for _, id := range p.held {
			p.due.set(id, m.jobs[id].planned)
		}
	}
}

// holds tells whether the reservations made in an earlier pass hold still.
func (p *backfill) holds(m *Machine) bool {
	return p.settled && p.soonest(m) > m.now
}

// all tells whether every job that waits gets a reservation.
func (p *backfill) all() bool { return p.depth == 1<<30 }

// punctual starts, where all that wait have reservations, those that are due
// where they are: the others would get theirs again. It tells whether it could.
func (p *backfill) punctual(m *Machine) bool {
	if !p.settled || !p.all() {
		return false
	}
	var list []entry
	for p.due.next() <= m.now {
		id := p.due.pop()
		if m.jobs[id].planned < m.now {
			return false
		}
		list = append(list, m.jobs[id].entry(id))
	}
	slices.SortFunc(list, entry.compare)
	for _, e := range list {
		p.drop(m, e.job)
		m.begin(e.job)
	}
	p.held = slices.DeleteFunc(p.held, func(id int32) bool {
		return slices.ContainsFunc(list, func(e entry) bool { return e.job == id })
	})
	return true
}

// soonest is when the first reservation begins.
func (p *backfill) soonest(m *Machine) int64 {
	at := never
	if p.all() {
		return p.due.next()
	}
	for _, id := range p.held {
		at = min(at, m.jobs[id].planned)
	}
	return at
}

// unsettle takes reservations of an earlier pass out of the plan.
func (p *backfill) unsettle(m *Machine) {
	if p.settled {
		p.settled = false
		p.release(m)
	}
}

// release gives the reservations back.
func (p *backfill) release(m *Machine) {
	for _, id := range p.held {
		if p.light {
			break
		}
		j := &m.jobs[id]
		m.plan.vacate(j, j.planned, j.planned+j.limit)
	}
	p.held = p.held[:0]
}

// choose starts jobs beside the reservations as BACKFILLPOLICY says.
func (p *backfill) choose(m *Machine) {
	switch p.Backfill {
	case "NONE":
	case "BESTFIT":
		p.bestFit(m)
	case "GREEDY":
		p.greedy(m)
	default:
		p.fill(m)
	}
}

// walk starts jobs in order of priority while they fit and gives the first
// that do not fit their reservations, line by line. Under the policy HIGHEST a
// job that once held a reservation holds one until it starts. A job for which
// there is no time at all holds nobody up.
func (p *backfill) walk(m *Machine) {
	p.given = append(p.given[:0], make([]int, max(m.lines, 1))...)
	e, at, ok := p.queue.at(place{})
	kept, most := len(p.keep), max(p.depth, 1)
	p.counted = false
	f := p.frontier(m)
	ahead := slices.Clone(p.lines) // of the walk
	for open := p.queue.n; ok && (open > 0 || kept > 0); e, at, ok = p.queue.at(at) {
		j := &m.jobs[e.job]
		given := &p.given[j.line]
		if ahead[j.line]--; *given < most {
			open--
		}
		_, keeps := p.keep[e.job]
		if keeps {
			kept--
		} else if *given >= most {
			at.i++
			continue
		}
		j.planned = m.plan.earliest(j, max(m.now, f.least(j)), never)
		f.learn(j)
		switch {
		case j.planned == m.now:
			p.start(m, e, at)
			if *given == 0 {
				continue
			}
			p.counted = true // its reservation was for now
		case j.planned == never:
			at.i++
			continue
		default:
			p.reserve(m, e.job)
			at.i++
		}
		if *given++; *given == most {
			open -= ahead[j.line]
		}
	}
}

// frontier is what a walk knows of how early jobs can start, where it plans
// many.
func (p *backfill) frontier(m *Machine) *frontier {
	if _, byNode := m.plan.(*nodePlan); !byNode || p.depth < 8 {
		return nil
	}
	survey(m, &p.queue)
	return newFrontier(&p.queue, m)
}

// reserve gives a job that does not fit now a reservation, unless the policy
// knows none.
func (p *backfill) reserve(m *Machine, id int32) {
	if p.depth == 0 {
		return
	}
	if j := &m.jobs[id]; !p.light {
		m.plan.occupy(j, j.planned, j.planned+j.limit)
	}
	p.held = append(p.held, id)
	if p.ReservationPolicy == "HIGHEST" {
		p.keep[id] = struct{}{}
	}
}

// start starts the job at a place of the queue.
func (p *backfill) start(m *Machine, e entry, at place) {
	p.queue.removeAt(at)
	p.lines[m.jobs[e.job].line]--
	if p.shortest {
		p.byLimit.remove(byLimit(e))
	}
	p.unkind(&m.jobs[e.job], e)
	delete(p.keep, e.job)
	p.launch(m, e.job)
}

func (p *backfill) launch(m *Machine, id int32) {
	j := &m.jobs[id]
	m.plan.occupy(j, m.now, m.now+j.limit)
	m.begin(id)
}

// fill starts waiting jobs that fit now beside the reservations.
func (p *backfill) fill(m *Machine) {
	list := &p.queue
	if p.shortest {
		list = &p.byLimit
	}
	if nodes, ok := m.plan.(*nodePlan); ok && m.plain {
		p.fillPlainly(m, list)
		return
	} else if ok {
		p.fillNodes(m, nodes)
		return
	}
	end := p.depthEnd()
	p.look(m)
	at, ok := list.next(place{}, p.ws)
	for ; ok; at, ok = list.next(at, p.ws) {
		e, _, _ := list.at(at)
		if end.job >= 0 && e.compare(end) > 0 {
			return
		}
		list.removeAt(at)
		p.lines[m.jobs[e.job].line]--
		if p.shortest {
			p.queue.remove(m.jobs[e.job].entry(e.job))
		}
		p.launch(m, e.job)
		p.look(m)
	}
}

// single tells whether one reservation is all there can be in a pass.
func (p *backfill) single() bool {
	return p.depth == 1 && p.Backfill != "BESTFIT" && p.Backfill != "GREEDY" && p.ReservationPolicy != "HIGHEST"
}

// steady tells whether nothing but running jobs is in the plan of a plain
// pool: then more and more processors come free as time goes by.
func (m *Machine) steady() bool {
	_, plain := m.plan.(pool)
	return plain && !m.reserved
}

// look finds the windows open now. Where the plan is steady and there is one
// reservation these are EASY's two, and the reservation need not be put into
// the plan to find them: what is free now until the reservation begins, and
// what it leaves free then, for ever.
func (p *backfill) look(m *Machine) {
	if !p.light || len(p.held) == 0 {
		p.ws, _ = m.plan.windows(m.now, p.ws)
		return
	}
	head, free := &m.jobs[p.held[0]], m.plan.(pool)
	now, extra := free.at(m.now), free.at(head.planned)-head.procs
	p.ws = p.ws[:0]
	if extra < now {
		p.ws = append(p.ws, window{now, head.planned - m.now})
	}
	p.ws = append(p.ws, window{min(now, extra), never})
}
