package batch

import (
	"math"
	"time"
)

// sparing tells whether not every job that is tried is given a place, or not
// every one that fits is started, or others may give way: such places are made anew in
// each pass.
func (p *Slurm) sparing() bool { return p.withholds() || p.Preemption.Type != "" }

// withholds tells whether not every job that is tried gets a place, or is started.
func (p *Slurm) withholds() bool {
	return p.MinAgeReserve > 0 || p.MinPrioReserve > 0 || p.PartCountReserve > 0 || p.MaxJobStart > 0
}

// ground is a yard on which a policy acts on a machine.
type ground struct {
	p *slurm
	m *Machine
	*yard
}

// pass is one pass of backfill on a yard.
func (g ground) pass() {
	p, m, y := g.p, g.m, g.yard
	begun := m.begun
	y.past = entry{key: math.Inf(-1)}
	from := g.keep()
	if from < len(y.held) || y.stale {
		y.renew(m, from)
		if from == 0 {
			y.stale, y.tried, p.refused = false, m.now, false
		}
	} else if y.pending && m.begun == begun && len(y.opened) == 0 && !m.caps.any() {
		g.extend()
		return
	}
	y.opened, y.early = y.opened[:0], y.early[:0]
	g.bound()
	g.reach(true, never, never)
	y.left = m.caps.copy(y.left)
}

// bound notes which jobs the pass tries, and lets go of the places of others.
func (g ground) bound() {
	m, y := g.m, g.yard
	y.upto = g.last()
	n := len(y.held)
	for n > 0 && m.entry(y.held[n-1]).after(&y.upto) {
		n--
	}
	if n < len(y.held) {
		y.renew(m, n)
	}
}

// last is the last job that a pass tries; allJobs where only the pass tells.
func (g ground) last() entry {
	if parts(g.p, g.m) {
		return g.p.queue.nth(g.p.MaxJobTest - 1)
	}
	return allJobs()
}

// extend goes on behind the jobs that the pass, or the one before, tried, where there
// are more to try.
func (g ground) extend() {
	p, m, y := g.p, g.m, g.yard
	was := y.upto
	if p.queue.nth(p.MaxJobTest-1) == was {
		return
	}
	if g.bound(); y.pending {
		g.list(y.queue.behind(was), y.queue.n, never)
		if y.idle(m) {
			return
		}
	}
	g.reach(true, never, never)
}

// behind is the place behind an entry.
func (w *waiting) behind(e entry) place {
	at, there := w.find(e)
	if there {
		at.i++
	}
	return at
}

// reach gives jobs places, in order, from the first that was not tried yet on,
// until as many as may be were tried, or started, or where it may leave the rest for
// later until none of them could start now. Of those it is known that they could not
// where they last longer than a time. Others are left after so many.
func (g ground) reach(lazy bool, longest int64, most int64) {
	p, m, y := g.p, g.m, g.yard
	survey(m, &p.queue)
	y.known(m, &y.queue, p.horizon(p.last))
	p.tally.begin(m, &p.Slurm, y.held)
	y.pending = false
	last := y.past
	if n := len(y.held); n > 0 && m.entry(y.held[n-1]).after(&last) {
		last = *m.entry(y.held[n-1])
	}
	at := y.queue.behind(last)
	if lazy = lazy && p.lazy(m); lazy {
		g.list(at, g.left(), longest)
	}
	for n := 0; g.left() > 0; most-- {
		if m.caps.any() {
			next, passed := y.queue.open(at, m.caps.plannable())
			at, y.asked = next, y.asked+passed
		}
		e, here, ok := y.queue.at(at)
		if !ok || e.after(&y.upto) {
			return
		}
		if most == 0 {
			y.pending = true
			return
		}
		if lazy && n%looks == 0 && y.idle(m) {
			y.postpone(m.plan.(*nodePlan))
			return
		}
		y.asked++
		n++
		held := len(y.held)
		started := g.try(e.job)
		if at = here; !started {
			at.i++
		}
		if lazy && (started || len(y.held) == held && m.caps.plans(m.jobs[e.job].takes)) {
			g.more(at, longest) // one more is tried
			n = 0
		}
		if p.MaxJobStart > 0 && p.tally.started >= p.MaxJobStart {
			p.dirty = true // the next pass goes on
			return
		}
	}
}

// left is how many more jobs may be tried at most.
func (g ground) left() int {
	if len(g.p.yards) > 1 {
		return g.yard.queue.n // see upto
	}
	return g.p.MaxJobTest - len(g.held)
}

// more lists the jobs that are tried now that one has started.
func (g ground) more(at place, longest int64) {
	g.upto = g.last()
	g.list(at, g.left(), longest)
}

// looks is after how many places it pays to see whether the rest may be left.
const looks = 8

// horizon is up to when places are looked for: bf_window ahead, in steps of a part
// of it, between which nothing comes within it.
func (p *Slurm) horizon(now int64) int64 { return upTo(now, p.step()) + int64(p.Window/time.Second) }

// step is a step of it.
func (p *Slurm) step() int64 {
	return int64(max(p.Window/time.Second/stepsOfWindow, p.Interval/time.Second))
}

// upTo is a time rounded up to steps.
func upTo(at, step int64) int64 { return (at + step - 1) / step * step }

// stepsOfWindow is in how many steps places come within bf_window.
const stepsOfWindow = 24

// roughPlaces is how many jobs get places in a pass farther ahead than a run is exact.
const roughPlaces = 100

// try gives one job a place, or starts it: true.
func (g ground) try(id int32) bool {
	p, m, y := g.p, g.m, g.yard
	j := &m.jobs[id]
	if !m.caps.plans(j.takes) {
		return false
	}
	if !p.tally.tries(&p.Slurm, j) {
		p.refused = true
		return false
	}
	if p.Preemption.Type != "" && m.caps.lets(j.takes) && m.plan.earliest(j, m.now, m.now+1) != m.now && (preemptor{p, m}).start(id) {
		p.tally.started++
		return true
	}
	if g.reserves(j) {
		y.give(m, id, p.last, p.horizon(p.last))
	} else if n, byNode := m.plan.(*nodePlan); (!byNode || n.clearings.admit(n, j)) && m.plan.earliest(j, m.now, m.now+1) == m.now {
		j.planned = m.now
	}
	if j.planned == p.last && !m.caps.lets(j.takes) {
		j.planned, y.past = never, *m.entry(id)
		y.stale = y.stale || p.tally.counting // it counts as tried, and is not held
		return false
	}
	if j.planned == p.last {
		p.start(m, id, *m.entry(id))
		p.tally.started++
		return true
	}
	y.held = append(y.held, id)
	p.tally.reserve(j)
	return false
}

// reserves tells whether a job may be given a place in the future.
func (g ground) reserves(j *job) bool {
	p, m := g.p, g.m
	switch {
	case p.last >= p.near && len(g.held) >= roughPlaces:
		return false
	case p.MinPrioReserve > 0 && math.Mod(p.priority(j, m.now), tier) < p.MinPrioReserve:
		return false
	case p.MinAgeReserve > 0 && m.now-j.since < int64(p.MinAgeReserve/time.Second):
		return false
	}
	return p.PartCountReserve == 0 || p.tally.reserved[j.part] < p.PartCountReserve
}
