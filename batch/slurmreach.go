package batch

import (
	"math"
	"time"
)

// sparing tells whether not every job that is tried is given a place, or not
// every one that fits is started, or others may give way: such places are made anew in
// each pass.
func (p *Slurm) sparing() bool {
	return p.MinAgeReserve > 0 || p.MinPrioReserve > 0 || p.PartCountReserve > 0 || p.MaxJobStart > 0 || p.Preemption.Type != ""
}

// reach gives jobs places, in order, from the first that was not tried yet on,
// until as many as may be were tried, or started, or where it may leave the rest for
// later until none of them could start now. Of those it is known that they could not
// where they last longer than a time.
func (p *slurm) reach(m *Machine, lazy bool, longest int64) {
	survey(m, &p.queue)
	p.known(m, &p.queue, p.horizon(p.last))
	p.tally.begin(m, &p.Slurm, p.held)
	p.pending = false
	at := place{}
	if n := len(p.held); n > 0 {
		at, _ = p.queue.find(*m.entry(p.held[n-1]))
		at.i++
	}
	if lazy = lazy && p.lazy(m); lazy {
		p.list(&p.queue, at, p.MaxJobTest-len(p.held))
	}
	for len(p.held) < p.MaxJobTest {
		e, here, ok := p.queue.at(at)
		if !ok {
			return
		}
		if lazy && p.asked%looks == 0 && p.idle(m, longest) {
			p.postpone(m.plan.(*nodePlan))
			return
		}
		p.asked++
		if at = here; !p.try(m, e.job) {
			at.i++
		} else if lazy {
			p.list(&p.queue, at, p.MaxJobTest-len(p.held))
		}
		if p.MaxJobStart > 0 && p.tally.started >= p.MaxJobStart {
			p.dirty = true // the next pass goes on
			return
		}
	}
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
func (p *slurm) try(m *Machine, id int32) bool {
	j := &m.jobs[id]
	if !p.tally.tries(&p.Slurm, j) {
		p.refused = true
		return false
	}
	if p.Preemption.Type != "" && m.plan.earliest(j, m.now, m.now+1) != m.now && (preemptor{p, m}).start(id) {
		p.tally.started++
		return true
	}
	if p.reserves(m, j) {
		p.give(m, id, p.last, p.horizon(p.last))
	} else if n, byNode := m.plan.(*nodePlan); (!byNode || n.clearings.admit(n, j)) && m.plan.earliest(j, m.now, m.now+1) == m.now {
		j.planned = m.now
	}
	if j.planned == p.last {
		p.start(m, id)
		p.tally.started++
		return true
	}
	p.held = append(p.held, id)
	p.tally.reserve(j)
	return false
}

// reserves tells whether a job may be given a place in the future.
func (p *slurm) reserves(m *Machine, j *job) bool {
	switch {
	case p.last >= p.near && len(p.held) >= roughPlaces:
		return false
	case p.MinPrioReserve > 0 && math.Mod(p.priority(j, m.now), tier) < p.MinPrioReserve:
		return false
	case p.MinAgeReserve > 0 && m.now-max(j.Submit, j.Begin) < int64(p.MinAgeReserve/time.Second):
		return false
	}
	return p.PartCountReserve == 0 || p.tally.reserved[j.part] < p.PartCountReserve
}
