package batch

import "time"

// charted is the part of a run forward in which passes are made as Slurm makes them,
// with a chart that is empty at the begin of each: the first part, until so many nodes
// have been looked at. With many jobs and nodes, where one pass would take that, there
// is none.
type charted struct {
	ration int // nodes that may yet be looked at; 0: no pass is charted any more
	chart  chart
}

// mostLooks bounds what charted passes cost a run forward. A pass looks at a node some
// times for each job.
const (
	mostLooks  = 1 << 20
	looksAtOne = 4
)

// pictured implements policy: so it is where jobs may give way, or passes are charted, for which what runs is put in the order in
// which Slurm has made it.
func (p *slurm) pictured(m *Machine) bool { return p.Preemption.Type != "" || rationed(p, m) > 0 }

// rationed is what a run forward may look at.
func rationed(p *slurm, m *Machine) int {
	nodes, byNode := m.plan.(*nodePlan)
	if p.fine || !byNode || m.reserved || m.plain || p.Builtin || p.Preemption.Type != "" || p.Resolution < time.Second {
		return 0
	}
	if min(p.queue.n, p.MaxJobTest)*len(nodes.nodes)*looksAtOne > mostLooks {
		return 0
	}
	return mostLooks
}

// charts tells whether passes are charted.
func (p *slurm) charts() bool { return p.ration > 0 }

// charted is one pass of backfill. No place is known after it.
func (g ground) charted() {
	p, m, y := g.p, g.m, g.yard
	y.renew(m, 0)
	y.stale, y.opened, y.taken, y.early, p.refused = true, y.opened[:0], y.taken[:0], y.early[:0], false
	p.chart.begin(m.plan.(*nodePlan), &p.Slurm, m.now)
	p.tally.begin(m, &p.Slurm, nil)
	for at := (place{}); p.chart.tried < p.MaxJobTest && !p.chart.full; {
		e, here, ok := p.queue.at(at)
		if !ok {
			break
		}
		if at = here; !g.mark(e.job, true) {
			at.i++
			if !p.Recent {
				g.parked(e.job, at)
			}
		}
		if p.MaxJobStart > 0 && p.tally.started >= p.MaxJobStart {
			p.dirty = true // the next pass goes on
			break
		}
	}
	p.ration = max(0, p.ration-p.chart.looks)
}

// mark gives one job a place in the chart, or starts it where it may: true.
func (g ground) mark(id int32, may bool) bool {
	p, m, t := g.p, g.m, &g.p.chart
	j := &m.jobs[id]
	if t.full || !m.caps.plans(j.takes) || !p.tally.tries(&p.Slurm, j) {
		return false
	}
	t.tried++
	at, nodes := t.look(j, m.now+t.window+1)
	switch {
	case at == m.now && may && !m.caps.lets(j.takes):
	case at == m.now && may:
		p.take(m, id)
		j.limit, j.blocks = j.Limit, false
		hold(m.plan, j, m.now, nodes, j.limit)
		m.begin(id)
		p.tally.started++
		return true
	case at > m.now && at < never && g.reserves(j):
		if t.full = t.records() >= p.NodeSpace; t.full {
			return false
		}
		t.put(at, at+j.Limit, nodes)
		j.planned = at
		p.tally.reserve(j)
		j.planned = never
	}
	return false
}

// parked gives places to the jobs of an array that its limit parks, once the last of
// those that it does not has one: of a limit Slurm thinks when a job is to start.
func (g ground) parked(id int32, behind place) {
	p, m := g.p, g.m
	j := &m.jobs[id]
	t := m.queues.of(j.Queue)
	if j.array == 0 || t == nil {
		return
	}
	if e, _, ok := p.queue.at(behind); ok && m.jobs[e.job].array == j.array {
		return
	}
	t.parked.each(func(e *entry) {
		if more := &m.jobs[e.job]; more.array == j.array {
			more.compact = true // it has not entered yet
			g.mark(e.job, false)
		}
	})
}
