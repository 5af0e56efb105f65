package batch

import (
	"cmp"
	"slices"
	"time"
)

// requeueDelay is for how many seconds Slurm keeps a job that gave way from starting
// again: until its credential is void.
const requeueDelay = 121

// eviction is that a job gave way at a time.
type eviction struct {
	id      int // its Task.ID
	seq, at int64
	mode    PreemptMode
	begun   int64 // jobs started by then
	place   int32
}

// preemptor lets jobs of a machine give way under a policy.
type preemptor struct {
	p *slurm
	m *Machine
}

// yielding are the running jobs that are to give way when their grace is over.
type yielding struct {
	leaving  agenda
	owed     []int   // queues of jobs that gave way, in which the next may stand before the policy
	paused   []int32 // jobs that are suspended for others
	exempted int64   // the first time at which a job that is exempt, and was asked for, no longer is, or one has just left
	firm     bool    // nobody gives way any more
	guests   guests
}

// guests are the running jobs that may give way to some other, and some that no longer run.
type guests struct {
	list  []int32
	of    []*standing // theirs, each once
	begun int64       // one more than jobs had started when they were listed
}

// renew lists them anew where jobs have started since.
func (g *guests) renew(m *Machine) {
	if g.begun == m.begun+1 {
		return
	}
	g.list, g.of, g.begun = g.list[:0], g.of[:0], m.begun+1
	for id := range m.jobs {
		if v := &m.jobs[id]; v.state == running && v.standing != nil && v.standing.mode != "" {
			g.list = append(g.list, int32(id))
			if !slices.Contains(g.of, v.standing) {
				g.of = append(g.of, v.standing)
			}
		}
	}
}

// needed tells whether anybody who waits, or will again, might have another give way.
func (y preemptor) needed() bool {
	var waiting, all []*standing
	add := func(list []*standing, s *standing) []*standing {
		if s == nil || slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for i := range y.m.jobs {
		switch j := &y.m.jobs[i]; {
		case j.state == gone:
			continue
		case j.state != running || j.yields:
			waiting = add(waiting, j.standing)
			fallthrough
		default:
			all = add(all, j.standing)
		}
	}
	return slices.ContainsFunc(waiting, func(s *standing) bool { return slices.ContainsFunc(all, s.outranks) })
}

// start starts a job, which does not fit and has no place in the plan, on nodes
// that others have who give way to it, if they are enough; where they have a grace
// it waits for them, and nobody else gives way meanwhile.
func (y preemptor) start(id int32) bool {
	p, m := y.p, y.m
	nodes, byNode := m.plan.(*nodePlan)
	j := &m.jobs[id]
	if !byNode || j.standing == nil || p.Preemption.Type == "" || p.firm || j.awaits != 0 && j.awaits >= m.now {
		return false
	}
	stop, list := y.suspended(y.victims(j))
	if len(stop) > 0 && y.over(id, stop) {
		return true
	}
	if len(list) == 0 {
		return false
	}
	out, shares, ok := without(m, nodes, j, list)
	if !ok {
		return false
	}
	if out, shares, ok = without(m, nodes, j, useful(m, list, out, shares)); !ok {
		return false
	}
	at := m.now
	for _, v := range out {
		if k := &m.jobs[v]; slices.ContainsFunc(shares, func(s share) bool { return k.on(s.node) }) {
			at = max(at, y.yield(v))
		}
	}
	yard := p.yards[j.yard]
	if yard.stale, yard.front = true, nil; at > m.now { // others may start earlier than was known
		j.awaits = at
		return false
	}
	p.take(m, id)
	j.limit, j.blocks = j.Limit, false
	hold(m.plan, j, m.now, shares, j.limit)
	m.begin(id)
	yard.takes(m, id, *m.entry(id))
	return true
}

// victims lists the running jobs that may give way to one, in the order in which
// they do.
func (y preemptor) victims(j *job) (list []int32) {
	p, m := y.p, y.m
	if p.guests.renew(m); !slices.ContainsFunc(p.guests.of, j.standing.outranks) {
		return nil
	}
	for _, id := range p.guests.list {
		v := &m.jobs[id]
		if v.state != running || !j.standing.outranks(v.standing) || v.yields || !slices.ContainsFunc(v.shares, func(s share) bool { return j.Need.serves(s.node) }) {
			continue
		}
		// nobody gives way in the second in which he starts: Slurm tries first who others give way to
		if until := v.start + max(1, int64(p.Preemption.ExemptTime/time.Second)); until > m.now && v.standing.mode != PreemptSuspend {
			p.exempted = min(p.exempted, until)
			continue
		}
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b int32) int {
		x, y := &m.jobs[a], &m.jobs[b]
		if p.Preemption.YoungestFirst {
			return cmp.Or(cmp.Compare(y.start, x.start), cmp.Compare(x.seq, y.seq))
		}
		return cmp.Or(cmp.Compare(x.standing.rank, y.standing.rank), cmp.Compare(len(x.shares), len(y.shares)), cmp.Compare(x.seq, y.seq))
	})
	return list
}

// without finds how many of the jobs of a list must go, in its order, for another to
// start now, and on which nodes it then would. The plan is left as it was.
func without(m *Machine, p *nodePlan, j *job, list []int32) (out []int32, shares []share, ok bool) {
	for _, v := range list {
		k := &m.jobs[v]
		p.vacate(k, m.now, k.start+k.limit)
		if out = append(out, v); p.earliest(j, m.now, m.now+1) == m.now {
			ok = p.choose(j, m.now, &shares)
			break
		}
	}
	for _, v := range out {
		k := &m.jobs[v]
		hold(p, k, m.now, k.shares, k.start+k.limit-m.now)
	}
	return out, shares, ok
}

// useful puts, of the jobs that would go, the last first and the others by how many of
// the nodes chosen they have, the most first, before those that need not go.
func useful(m *Machine, list, out []int32, chosen []share) []int32 {
	count := func(id int32) (n int) {
		for _, s := range chosen {
			if m.jobs[id].on(s.node) {
				n++
			}
		}
		return n
	}
	last := len(out) - 1
	order := slices.Clone(out[:last])
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(count(b), count(a)) })
	return append(append([]int32{out[last]}, order...), list[len(out):]...)
}

// yield lets a running job give way: at once, or when its grace is over. It returns
// when the job is gone.
func (y preemptor) yield(id int32) int64 {
	p, m := y.p, y.m
	v := &m.jobs[id]
	if v.standing.grace == 0 {
		y.evict(id)
		return m.now
	}
	v.yields = true
	end := v.start + v.limit
	if until := m.now + v.standing.grace; until < end {
		m.plan.vacate(v, m.now, end)
		hold(m.plan, v, m.now, v.shares, until-m.now)
		v.limit, end = until-v.start, until
	}
	p.leaving.push(due{end, v.order, id})
	return end
}

// next is when the next grace is over of a job that has not ended before.
func (y preemptor) next() int64 {
	p, m := y.p, y.m
	for len(p.leaving) > 0 {
		d := p.leaving[0]
		if j := &m.jobs[d.job]; j.state == running && j.order == d.ticket {
			return d.at
		}
		p.leaving.pop()
	}
	return never
}

// leave lets go those whose grace is over.
func (y preemptor) leave() (any bool) {
	p, m := y.p, y.m
	for len(p.leaving) > 0 && p.leaving[0].at <= m.now {
		d := p.leaving.pop()
		if j := &m.jobs[d.job]; j.state == running && j.order == d.ticket {
			y.evict(d.job)
			any = true
		}
	}
	return any
}

// claim starts those for whom others have just left, before anybody else has what these leave:
// who gave way may be ahead of them in the queue.
func (y preemptor) claim() {
	p, m := y.p, y.m
	var list []int32
	(sorter{p, m}).untangle()
	p.queue.each(func(e *entry) {
		if j := &m.jobs[e.job]; j.awaits == m.now && m.caps.lets(j.takes) {
			list = append(list, e.job)
		}
	})
	for _, id := range list {
		p.head(m, id)
	}
}

// evict takes a running job off the machine, for good or back into the queue.
func (y preemptor) evict(id int32) {
	p, m := y.p, y.m
	j := &m.jobs[id]
	m.plan.vacate(j, m.now, j.start+j.limit)
	m.busy--
	m.caps.ended(j)
	p.owed = append(p.owed, j.Queue)
	p.exempted = min(p.exempted, m.now+1) // what is left of its nodes is for others
	m.evicted = append(m.evicted, eviction{int(j.ID), j.seq, m.now, j.standing.mode, m.begun, id})
	if j.standing.mode == PreemptCancel {
		m.gates.failed(m.now, j.ID)
		m.drop(id)
		return
	}
	j.state, j.limit, j.shares, j.start, j.planned = queued, j.Limit, nil, 0, 0
	j.procs = int32(j.Procs) // not only what it was known to have
	j.yields, j.again, j.After, j.gates, j.awaits, j.Begin = false, true, nil, 0, 0, m.now+requeueDelay
	m.wait++
	m.gates.bound(id, j)
	m.arrive(id)
}

// repay lets the next jobs in for those that gave way: not while the queue is gone
// through.
func (y *yielding) repay(m *Machine) {
	for _, queue := range y.owed {
		m.release(queue)
	}
	y.owed = y.owed[:0]
}

// gone returns the jobs that gave way since the last call.
func (m *Machine) gone() []eviction {
	list := m.evicted
	m.evicted = m.evicted[:0]
	return list
}

// on tells whether a job has a part of a node.
func (j *job) on(node int32) bool {
	return among(j.shares, node)
}
