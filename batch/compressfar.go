package batch

import "time"

// By nodes, where jobs end before their limits, every end moves most of a long queue.
// A run forward does so after each end for so long. Behind that time goes by in steps,
// as under slurm: at the begin of a step the plan is told which jobs end within it, and
// places are made earlier once.
const (
	compressNear  = 24 * time.Hour
	compressSteps = 25
)

// foretells makes ready for a run forward in which jobs run as believed.
func (p *conservative) foretells(m *Machine, b Belief) {
	p.far = far{near: m.now + int64(compressNear/time.Second), began: m.now, steps: compressSteps, belief: b, ends: p.far.ends[:0]}
	if _, byNode := m.plan.(*nodePlan); !byNode || toLimits(b) {
		p.near = never
	}
}

// toLimits tells whether all jobs are believed to run to their limits, but for one asked about.
func toLimits(b Belief) bool {
	if a, ok := b.(asking); ok { // with the same steps as without the job asked about
		b = a.Belief
	}
	_, ok := b.(Estimate)
	return ok
}

// over tells whether the part of a run forward is over in which every end counts.
func (p *conservative) over(m *Machine) bool { return p.steps > 0 && m.now >= p.near }

// reveal lets the plan know when a job that runs ends, where that is before its limit
// and within the step.
func (p *conservative) reveal(m *Machine, id int32, at int64) {
	j := &m.jobs[id]
	if j.state != running || at <= m.now || at >= min(p.until, j.start+j.limit) {
		return
	}
	end, shares := j.start+j.limit, j.shares
	m.plan.vacate(j, m.now, end)
	j.limit = at - j.start
	hold(m.plan, j, m.now, shares, at-m.now)
	p.vents.gather(at, end, shares)
}

// expect notes when a job that runs will end.
func (p *conservative) expect(m *Machine, id int32) {
	j := &m.jobs[id]
	at := j.start + max(1, p.belief.Run(&j.Task, max(0, p.began-j.start)))
	if at < p.until {
		p.reveal(m, id, at)
		return
	}
	p.ends.push(due{at, j.order, id})
}

// stride begins a step.
func (p *conservative) stride(m *Machine) {
	first := p.until == 0
	p.until = m.now + max(farStep, (m.now-p.near)/p.steps)
	if first {
		for id := range m.jobs {
			if m.jobs[id].state == running {
				p.expect(m, int32(id))
			}
		}
	}
	for len(p.ends) > 0 && p.ends[0].at < p.until {
		if d := p.ends.pop(); m.jobs[d.job].order == d.ticket {
			p.reveal(m, d.job, d.at)
		}
	}
	if p.compress(m, m.plan.(*nodePlan)); m.busy == 0 {
		p.until = p.due.next() // nothing ends before
	}
}
