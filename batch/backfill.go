package batch

import (
	"slices"
	"sort"
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
	steady
	Maui
	ranks
	reservations
	ws   windows
	tips tips // memory for fillNodes
}

func newBackfill(p Maui, shortest bool) *backfill {
	b := &backfill{Maui: p, ranks: ranks{shortest: shortest}, reservations: reservations{depth: p.ReservationDepth, keep: map[int32]struct{}{}}}
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
	c.ranks, c.reservations = p.ranks.clone(old.ranks), p.reservations.clone(old.reservations)
	c.ws, c.tips = old.ws, old.tips
	return c
}

func (p *backfill) lead(*Machine) {}

func (p *backfill) enter(m *Machine, id int32) {
	j := &m.jobs[id]
	j.key = -p.Weights.priority(j, m.now)
	e := j.entry(id)
	p.insert(j, e)
	if p.settled && (int(j.line) >= len(p.given) || p.given[j.line] < p.depth || !p.behind(m, e)) {
		p.unsettle(m)
	}
}

func (p *backfill) left(m *Machine, id int32) {
	p.unsettle(m)
	p.drop(m, id)
}

// drop takes a job out of the queue.
func (p *backfill) drop(m *Machine, id int32) {
	p.remove(&m.jobs[id], id)
	delete(p.keep, id)
}

func (p *backfill) decide(m *Machine)     { p.pass(m) }
func (p *backfill) next(m *Machine) int64 { return never }

func (p *backfill) freed(m *Machine, from, to int64, _ *job) {
	if max(from, m.now) < to {
		p.unsettle(m)
	}
	p.pass(m)
}

func (p *backfill) wake(m *Machine) {
	p.unsettle(m)
	p.pass(m)
}

// pass is one scheduling iteration.
func (p *backfill) pass(m *Machine) {
	if m.following {
		return
	}
	if p.Weights.changing() {
		p.sort(m, p.Weights)
	}
	if !p.holds(m) && !p.punctual(m) {
		p.unsettle(m)
		p.light = p.Maui.single() && m.steady()
		p.walk(m)
		p.settle(m, p.Weights.changing())
	}
	if p.queue.n > len(p.held) && !m.sight.partial {
		p.choose(m)
	}
	if !p.settled {
		p.release(m)
	}
}

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
		i := sort.Search(len(p.held), func(i int) bool { return !e.after(m.entry(p.held[i])) }) // they are in order
		p.held = slices.Delete(p.held, i, i+1)
	}
	return true
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
	m.sight.renew()
	f := p.frontier(m)
	if p.all() {
		m.recall.begin(m, &p.queue)
		defer m.recall.end()
	}
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
		seen := m.sight.place(m, j, max(m.now, f.least(j)))
		f.learn(j)
		switch {
		case !seen:
			at.i++
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
			p.reserve(m, e.job, p.ReservationPolicy == "HIGHEST")
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

// start starts the job at a place of the queue.
func (p *backfill) start(m *Machine, e entry, at place) {
	p.removeAt(&m.jobs[e.job], e, at)
	delete(p.keep, e.job)
	p.launch(m, e.job)
}

func (p *backfill) launch(m *Machine, id int32) {
	j := &m.jobs[id]
	j.planned = m.now
	seat(m, j)
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
