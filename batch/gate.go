package batch

import (
	"maps"
	"slices"
)

// gates keep waiting jobs from the policy until their time has come or the jobs
// they depend on have started or ended.
type gates struct {
	later agenda // jobs that may not start before a time
	start map[int64][]gated
	end   map[int64][]gated
}

// gated is a job at a gate: its place and, as places are used again, its seq.
type gated struct {
	job int32
	seq int64
}

// clone copies the gates into the memory of an older copy.
func (g gates) clone(old gates) gates {
	return gates{append(old.later[:0], g.later...), maps.Clone(g.start), maps.Clone(g.end)}
}

// arrive brings a waiting job before its gates, or through them to the policy.
func (m *Machine) arrive(id int32) {
	j := &m.jobs[id]
	if j.Begin > m.now {
		j.gates++
		m.gates.later.push(due{j.Begin, j.seq, id})
	}
	for _, a := range j.After {
		m.gates.await(a, gated{id, j.seq})
		j.gates++
	}
	if j.gates == 0 {
		m.admit(id)
	}
}

func (g *gates) await(a After, job gated) {
	if g.end == nil {
		g.start, g.end = map[int64][]gated{}, map[int64][]gated{}
	}
	if a.Started {
		g.start[a.ID] = append(g.start[a.ID], job)
	} else {
		g.end[a.ID] = append(g.end[a.ID], job)
	}
}

// punctual lets the jobs in whose time has come and tells whether there were any.
func (m *Machine) punctual() (any bool) {
	for len(m.gates.later) > 0 && m.gates.later[0].at <= m.now {
		d := m.gates.later.pop()
		any = m.open(gated{d.job, d.ticket}) || any
	}
	return any
}

// follow lets the jobs in that waited for one to start or end: at this instant,
// after all else that happens at it.
func (m *Machine) follow(of map[int64][]gated, id int64) {
	for _, g := range of[id] {
		m.gates.later.push(due{m.now, g.seq, g.job})
	}
	delete(of, id)
}

// open takes one gate from before a job; true: it was the last.
func (m *Machine) open(g gated) bool {
	j := &m.jobs[g.job]
	if j.seq != g.seq || j.state != queued || j.gates == 0 {
		return false // gone, or started by others
	}
	if j.gates--; j.gates > 0 {
		return false
	}
	m.admit(g.job)
	return true
}

// expire sets the jobs aside that can no longer be done by the end of the
// reservation they are to run in.
func (m *Machine) expire() (any bool) {
	kept := m.bounded[:0]
	for _, g := range m.bounded {
		j := &m.jobs[g.job]
		switch {
		case j.seq != g.seq || j.state != queued:
		case j.gates > 0 || j.Need.to-j.limit >= m.now:
			kept = append(kept, g)
		default:
			m.strand(g.job)
			any = true
		}
	}
	m.bounded = kept
	return any
}

// strand takes a job from before the policy that will not start any more.
func (m *Machine) strand(id int32) {
	j := &m.jobs[id]
	if !m.unpark(id) {
		m.policy.left(m, id)
		m.release(j.Queue)
	}
	j.state = stuck
}

// holdsBack tells whether jobs may come before the policy when another ends.
func (m *Machine) holdsBack() bool {
	return len(m.gates.start)+len(m.gates.end) > 0 || slices.ContainsFunc(m.queues, func(t throttle) bool { return t.parked.n > 0 })
}
