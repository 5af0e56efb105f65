package batch

import (
	"math"
	"time"
)

// tally counts what one pass of backfill has done.
type tally struct {
	started  int
	users    map[int64]int    // jobs tried, by user
	parts    map[int32]int    // by partition
	both     map[[2]int64]int // by user and partition
	reserved map[int32]int    // places in the future, by partition
	ofArray  map[int32]int    // the same, by array
}

// sparing tells whether not every job that is tried is given a place, or not
// every one that fits is started: such places are made anew in each pass.
func (p *slurm) sparing() bool {
	return p.MinAgeReserve > 0 || p.MinPrioReserve > 0 || p.PartCountReserve > 0 || p.MaxJobStart > 0
}

// reach gives jobs places, in order, from the first that was not tried yet on,
// until as many as may be were tried, or started.
func (p *slurm) reach(m *Machine) {
	m.survey(&p.queue)
	p.known(m)
	p.tally = tally{
		users: map[int64]int{}, parts: map[int32]int{}, both: map[[2]int64]int{}, reserved: map[int32]int{}, ofArray: map[int32]int{},
	}
	for _, id := range p.held {
		p.count(&m.jobs[id])
		p.reserved(&m.jobs[id])
	}
	at := place{}
	if n := len(p.held); n > 0 {
		at, _ = p.queue.find(*p.entry(m, p.held[n-1]))
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

// try gives one job a place, or starts it: true.
func (p *slurm) try(m *Machine, id int32) bool {
	j := &m.jobs[id]
	if p.tally.ofArray[j.array] >= p.MaxArrayReserve && j.array > 0 || !p.count(j) {
		return false
	}
	if p.reserves(m, j) {
		p.place(m, j, m.now)
	} else if m.plan.earliest(j, m.now, m.now+1) == m.now {
		j.planned = m.now
		m.plan.occupy(j, m.now, m.now+j.limit)
	}
	if j.planned == m.now {
		p.start(m, id)
		p.tally.started++
		return true
	}
	p.held = append(p.held, id)
	p.reserved(j)
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

// reserved counts a job's place.
func (p *slurm) reserved(j *job) {
	if j.planned < never {
		p.tally.reserved[j.part]++
		p.tally.ofArray[j.array]++
	}
}

// count counts a job that is tried; false: too many of its user or partition
// were tried already.
func (p *slurm) count(j *job) bool {
	t, both := &p.tally, [2]int64{j.User, int64(j.part)}
	if p.MaxJobUser > 0 && t.users[j.User] >= p.MaxJobUser || p.MaxJobPart > 0 && t.parts[j.part] >= p.MaxJobPart ||
		p.MaxJobUserPart > 0 && t.both[both] >= p.MaxJobUserPart {
		return false
	}
	t.parts[j.part]++
	if p.MaxJobUser > 0 {
		t.users[j.User]++
	}
	if p.MaxJobUserPart > 0 {
		t.both[both]++
	}
	return true
}
