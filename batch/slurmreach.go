package batch

import (
	"math"
	"time"
)

// sparing tells whether not every job that is tried is given a place, or not
// every one that fits is started: such places are made anew in each pass.
func (p *Slurm) sparing() bool {
	return p.MinAgeReserve > 0 || p.MinPrioReserve > 0 || p.PartCountReserve > 0 || p.MaxJobStart > 0
}

// reach gives jobs places, in order, from the first that was not tried yet on,
// until as many as may be were tried, or started.
func (p *slurm) reach(m *Machine) {
	survey(m, &p.queue)
	p.known(m, &p.queue, p.horizon(m.now))
	p.tally.clear()
	for _, id := range p.held {
		if !p.tally.counts(&p.Slurm) {
			break
		}
		p.tally.count(&p.Slurm, &m.jobs[id])
		p.tally.reserve(&m.jobs[id])
	}
	at := place{}
	if n := len(p.held); n > 0 {
		at, _ = p.queue.find(*m.entry(p.held[n-1]))
		at.i++
	}
	for len(p.held) < p.MaxJobTest {
		e, here, ok := p.queue.at(at)
		if !ok {
			return
		}
		if at = here; !p.try(m, e.job) {
			at.i++
		}
		if p.MaxJobStart > 0 && p.tally.started >= p.MaxJobStart {
			p.dirty = true // the next pass goes on
			return
		}
	}
}

// horizon is up to when places are looked for: bf_window ahead, in steps of a part
// of it, between which nothing comes within it.
func (p *slurm) horizon(now int64) int64 {
	window := int64(p.Window / time.Second)
	step := max(window/stepsOfWindow, p.interval)
	return (now+step-1)/step*step + window
}

// stepsOfWindow is in how many steps places come within bf_window.
const stepsOfWindow = 24

// try gives one job a place, or starts it: true.
func (p *slurm) try(m *Machine, id int32) bool {
	j := &m.jobs[id]
	if j.array > 0 && p.tally.ofArray[j.array] >= p.MaxArrayReserve || !p.tally.count(&p.Slurm, j) {
		p.refused = true
		return false
	}
	if p.reserves(m, j) {
		p.give(m, id, m.now, p.horizon(m.now))
	} else if m.plan.earliest(j, m.now, m.now+1) == m.now {
		j.planned = m.now
	}
	if j.planned == m.now {
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
	case p.MinPrioReserve > 0 && math.Mod(p.priority(j, m.now), tier) < p.MinPrioReserve:
		return false
	case p.MinAgeReserve > 0 && m.now-max(j.Submit, j.Begin) < int64(p.MinAgeReserve/time.Second):
		return false
	}
	return p.PartCountReserve == 0 || p.tally.reserved[j.part] < p.PartCountReserve
}
