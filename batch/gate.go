package batch

import (
	"cmp"
	"maps"
	"slices"
)

// gates keep waiting jobs from the policy until their time has come or the jobs
// they depend on have started or ended, and know those that must be done by a
// time.
type gates struct {
	later agenda // jobs that may not start before a time
	start map[int64][]gated
	end   map[int64][]gated
	late  agenda // when it is too late for jobs with a deadline, or that are to run in a reservation

	drift  bool    // somebody waits for some time from when another was found not to start any more: that one may be there still
	kills  bool    // jobs that wait for what will not come are cancelled
	dead   agenda  // these
	killed []int32 // those that have been, in order
}

// gated is a job at a gate: its place and, as places are used again, its seq.
type gated struct {
	job   int32
	seq   int64
	delay int64 // for so long after what it waits for
	well  bool  // that is to end well: Slurm's afterok
	ill   bool  // that is not to: afternotok
}

// clone copies the gates into the memory of an older copy.
func (g *gates) clone(old gates) gates {
	c := *g
	c.later, c.start, c.end = append(old.later[:0], g.later...), maps.Clone(g.start), maps.Clone(g.end)
	c.late, c.dead, c.killed = append(old.late[:0], g.late...), append(old.dead[:0], g.dead...), append(old.killed[:0], g.killed...)
	return c
}

// bound notes a job that must start by a time.
func (g *gates) bound(id int32, j *job) {
	if at := j.latest(); at < never {
		g.late.push(due{at + 1, j.seq, id})
	}
}

// latest is when a job may start at the latest, by its deadline and its reservation; never: at
// any time.
func (j *job) latest() int64 {
	at := j.Need.last(j.Limit)
	if j.Latest > 0 {
		at = min(at, j.Latest)
	}
	return at
}

// linked tells whether jobs wait for others.
func (g *gates) linked() bool { return len(g.start)+len(g.end) > 0 }

// next is the first time that a job waits for, or at which it is too late for one, or never.
func (g *gates) next(m *Machine) int64 {
	for len(g.late) > 0 && !waits(m, g.late[0]) {
		g.late.pop() // it has started, or is gone
	}
	return min(g.later.first(), g.late.first(), g.dead.first())
}

// waits tells whether a job that is due still waits.
func waits(m *Machine, d due) bool {
	j := &m.jobs[d.job]
	return j.seq == d.ticket && j.state == queued
}

// first is the first time of an agenda, or never.
func (a agenda) first() int64 {
	if len(a) == 0 {
		return never
	}
	return a[0].at
}

// arrive brings a waiting job before its gates, or through them to the policy.
func (m *Machine) arrive(id int32) {
	j := &m.jobs[id]
	if j.Begin > m.now {
		j.gates++
		m.gates.later.push(due{j.Begin, j.seq, id})
	}
	for _, a := range j.After {
		m.gates.await(a, gated{id, j.seq, a.Delay, a.Success, a.Failure})
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

// punctual lets the jobs in whose time has come, in order of priority, and tells whether there
// were any.
func (g *gates) punctual(m *Machine) bool {
	g.kill(m)
	var list []int32
	for g.later.first() <= m.now {
		if d := g.later.pop(); open(m, gated{job: d.job, seq: d.ticket}) {
			list = append(list, d.job)
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Compare(m.policy.priority(&m.jobs[b], m.now), m.policy.priority(&m.jobs[a], m.now))
	})
	for _, id := range list {
		m.admit(id)
	}
	return len(list) > 0
}

// started, ended and failed let the jobs in that waited for one to start, to end well and to end otherwise (it was cancelled,
// ran to its limit, or lost its node): at this instant, after all else that happens at it, or so long after it as they are to
// wait. Who waits for it to end as it did not does so for ever, also when another has its number.
func (g *gates) started(now, id int64) {
	g.follow(g.start, now, id, func(*gated) bool { return false })
}
func (g *gates) ended(now, id int64) { g.follow(g.end, now, id, func(w *gated) bool { return w.ill }) }
func (g *gates) failed(now, id int64) {
	g.follow(g.end, now, id, func(w *gated) bool { return w.well })
}

// lapsed lets those in that waited for one to start or to end that is too late for its
// deadline: Slurm cancels it.
func (g *gates) lapsed(now int64, j *job) {
	if j.Latest > 0 && now > j.Latest {
		g.cancelled(now, j.ID)
	}
}

// cancelled lets those in that waited for one to start or to end that never will: it is to be cancelled.
func (g *gates) cancelled(now, id int64) {
	delayed := func(w gated) bool { return w.delay > 0 }
	g.drift = g.drift || slices.ContainsFunc(g.end[id], delayed) || slices.ContainsFunc(g.start[id], delayed)
	g.failed(now, id)
	g.started(now, id)
}

func (g *gates) follow(of map[int64][]gated, now, id int64, stays func(*gated) bool) {
	for _, w := range of[id] {
		if !stays(&w) {
			g.later.push(due{now + w.delay, w.seq, w.job})
		} else if g.kills {
			g.dead.push(due{now, w.seq, w.job})
		}
	}
	delete(of, id)
}

// kill cancels the jobs that wait for what will not come any more, and with them who waits for their success. Who waits for their
// end, failure or start starts.
func (g *gates) kill(m *Machine) {
	for g.dead.first() <= m.now {
		d := g.dead.pop()
		if j := &m.jobs[d.job]; waits(m, d) && j.gates > 0 {
			j.state = stuck
			g.cancelled(m.now, j.ID)
			g.killed = append(g.killed, d.job)
		}
	}
}

// open takes one gate from before a job; true: it was the last.
func open(m *Machine, g gated) bool {
	j := &m.jobs[g.job]
	if j.seq != g.seq || j.state != queued || j.gates == 0 {
		return false // gone, or started by others
	}
	if j.gates--; j.gates > 0 {
		return false
	}
	if !j.ages {
		j.since = m.now
	}
	return true
}

// lapse sets aside those for which it has become too late, before anything that happens at this
// instant lets one start; admit sees to those whose gates open after that.
func (g *gates) lapse(m *Machine) {
	for g.late.first() <= m.now {
		d := g.late.pop()
		if waits(m, d) && m.jobs[d.job].gates == 0 {
			m.strand(d.job)
			g.lapsed(m.now, &m.jobs[d.job])
		}
	}
}
