package batch

import "maps"

// reservations are those that a backfill pass has made, and what may stay of
// them until the next.
type reservations struct {
	depth   int                // of a line, at most
	keep    map[int32]struct{} // jobs that once held one, under HIGHEST
	light   bool               // the reservation of this pass is not in the plan: see look
	held    []int32            // jobs that hold a reservation in this pass
	given   []int              // reservations in this pass by line
	counted bool               // a start was counted as a reservation in this pass
	settled bool               // held and given are what the next pass would find: see settle
	due     timetable          // of the reservations, where all that wait have one
}

// clone copies the reservations into the memory of an older copy.
func (p *reservations) clone(old reservations) reservations {
	c := *p
	c.keep, c.due = maps.Clone(p.keep), p.due.clone()
	c.held, c.given = append(old.held[:0], p.held...), append(old.given[:0], p.given...)
	return c
}

// behind tells whether a job comes after all that hold a reservation.
func (p *reservations) behind(m *Machine, e entry) bool {
	for _, id := range p.held {
		if first := m.jobs[id].entry(id); first.after(&e) {
			return false
		}
	}
	return true
}

// settle notes that the reservations just made may stay as they are until
// something happens by which they could be others: a job that comes before them
// or leaves, something that comes free before its time, a reservation of the
// machine that begins or ends, or that one of them is due. What starts beside
// them makes none of them earlier or later: each stays on its nodes. Where a start was counted as a reservation,
// the next pass may make another.
func (p *reservations) settle(m *Machine, changing bool) {
	_, byNode := m.plan.(*nodePlan)
	p.settled = byNode && (!p.counted || p.all()) && p.depth > 0 && len(p.held) > 0 && !changing
	if p.settled && p.all() {
		p.due = timetable{}
		for _, id := range p.held {
			p.due.set(id, m.jobs[id].planned)
		}
	}
}

// holds tells whether the reservations made in an earlier pass hold still.
func (p *reservations) holds(m *Machine) bool {
	return p.settled && p.soonest(m) > m.now
}

// all tells whether every job that waits gets a reservation.
func (p *reservations) all() bool { return p.depth == 1<<30 }

// soonest is when the first reservation begins.
func (p *reservations) soonest(m *Machine) int64 {
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
func (p *reservations) unsettle(m *Machine) {
	if p.settled {
		p.settled = false
		p.release(m)
	}
}

// release gives the reservations back.
func (p *reservations) release(m *Machine) {
	for _, id := range p.held {
		if p.light {
			break
		}
		j := &m.jobs[id]
		m.plan.vacate(j, j.planned, j.planned+j.limit)
	}
	p.held = p.held[:0]
}

// reserve gives a job that does not fit now a reservation, unless the policy
// knows none, which it keeps until it starts where it is to.
func (p *reservations) reserve(m *Machine, id int32, keeps bool) {
	if p.depth == 0 {
		return
	}
	if j := &m.jobs[id]; !p.light {
		seat(m, j)
	}
	p.held = append(p.held, id)
	if keeps {
		p.keep[id] = struct{}{}
	}
}
