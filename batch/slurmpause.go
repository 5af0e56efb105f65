package batch

import (
	"cmp"
	"slices"
)

// pause is that a running job is suspended while others run on its processors (PreemptMode=SUSPEND): it keeps
// its nodes, with their memory and GPUs, and goes on there. It is never changed, as copies of the machine share it.
type pause struct {
	since int64
	had   []share // what it goes on with
	need  *Need   // of the whole job
	told  bool
}

// suspended parts off, of those that may give way, the jobs that are suspended then, the lowest rank first.
func (y preemptor) suspended(list []int32) (stop, others []int32) {
	rank := func(id int32) int { return y.m.jobs[id].standing.rank }
	for _, id := range list {
		if y.m.jobs[id].standing.mode == PreemptSuspend {
			stop = append(stop, id)
		} else {
			others = append(others, id)
		}
	}
	slices.SortStableFunc(stop, func(a, b int32) int { return cmp.Compare(rank(a), rank(b)) })
	return stop, others
}

// over starts a job on processors that others give up, as if none of these ran whose rank is so low at most, the
// least that does.
func (y preemptor) over(id int32, list []int32) bool {
	p, m := y.p, y.m
	nodes, j := m.plan.(*nodePlan), &m.jobs[id]
	for n := 0; n < len(list); {
		for rank := m.jobs[list[n]].standing.rank; n < len(list) && m.jobs[list[n]].standing.rank == rank; n++ {
			y.stop(list[n])
		}
		var shares []share
		if nodes.earliest(j, m.now, m.now+1) != m.now || !nodes.choose(j, m.now, &shares) {
			continue
		}
		yard := p.yards[j.yard]
		yard.stale, yard.front = true, nil
		p.take(m, id)
		j.limit, j.blocks = j.Limit, false
		hold(nodes, j, m.now, shares, j.limit)
		m.begin(id)
		yard.takes(m, id, *m.entry(id))
		y.p.resume(y.m)
		return true
	}
	y.p.resume(y.m)
	return false
}

// stop takes all processors of a running job.
func (y preemptor) stop(id int32) {
	m, v := y.m, &y.m.jobs[id]
	m.plan.vacate(v, m.now, v.start+v.limit)
	if v.paused == nil {
		v.paused = &pause{since: m.now, had: v.shares, need: v.Need}
		y.p.paused = append(y.p.paused, id)
		v.Need = v.Need.stopped(v.shares)
	}
	v.shares = make([]share, len(v.paused.had))
	for i, s := range v.paused.had {
		v.shares[i].node = s.node
	}
	hold(m.plan, v, m.now, v.shares, v.start+v.limit-m.now)
}

// stopped is what a job needs of nodes while it is suspended: its memory.
func (n *Need) stopped(shares []share) *Need {
	s, procs := *n, int64(0)
	for _, part := range shares {
		procs += int64(part.procs)
	}
	on := int64(max(1, len(shares)))
	s.Keeps, s.Memory, s.Each, s.Core, s.Whole = (n.Memory*procs+on-1)/on, 0, 0, 0, false
	return &s
}

// resume lets those that are suspended go on for whom there is room again, the highest rank first. The others
// keep what nobody else has of their nodes.
func (y *yielding) resume(m *Machine) {
	list := y.paused
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, func(a, b int32) int {
		v, w := &m.jobs[a], &m.jobs[b]
		return cmp.Or(cmp.Compare(w.standing.rank, v.standing.rank), cmp.Compare(v.seq, w.seq))
	})
	y.paused = nil
	for _, id := range list {
		if v := &m.jobs[id]; v.state == running && v.paused != nil && !goesOn(m, id) {
			y.paused = append(y.paused, id)
		}
	}
}

// goesOn lets a suspended job go on where it may.
func goesOn(m *Machine, id int32) bool {
	v := &m.jobs[id]
	nodes, was := m.plan.(*nodePlan), *v.paused
	nodes.vacate(v, m.now, v.start+v.limit)
	left, all := make([]share, len(was.had)), true
	for i, s := range was.had {
		left[i] = share{s.node, min(s.procs, nodes.nodes[s.node].spare(m.now))}
		all = all && left[i].procs == s.procs
	}
	if !all {
		v.limit = max(v.limit, freeAgain(m, v)+v.Limit-was.since)
		if hold(nodes, v, m.now, left, v.start+v.limit-m.now); !was.told {
			m.evicted = append(m.evicted, eviction{int(v.ID), v.seq, m.now, PreemptSuspend, m.begun, id})
			was.told = true
			v.paused = &was
		}
		return false
	}
	v.Need, v.paused = was.need, nil
	m.caps.ended(v)
	v.start += m.now - was.since
	m.caps.begun(v)
	v.limit = outrun(v.Limit, m.now-v.start)
	hold(nodes, v, m.now, was.had, v.start+v.limit-m.now)
	if was.told {
		m.begun++
		v.order, v.again = m.begun, true // it ends at another time
		m.evicted = append(m.evicted, eviction{int(v.ID), v.seq, m.now, resumed, m.begun, id})
	}
	return true
}

// resumed is no mode: the job goes on.
const resumed PreemptMode = "RESUME"

// freeAgain is when those have reached their limits that run where a job is suspended for them.
func freeAgain(m *Machine, v *job) (at int64) {
	at = m.now
	for i := range m.jobs {
		k := &m.jobs[i]
		if k.state == running && k.paused == nil && k.standing.outranks(v.standing) && slices.ContainsFunc(v.paused.had, func(s share) bool { return k.on(s.node) }) {
			at = max(at, k.start+k.limit)
		}
	}
	return at
}

// halted implements policy.
func (y *yielding) halted(m *Machine, id int32, had []share) bool {
	j := &m.jobs[id]
	if j.standing == nil {
		return false
	}
	j.paused = &pause{since: m.now, had: had, need: j.Need, told: true}
	j.Need = j.Need.stopped(had)
	hold(m.plan, j, m.now, had[:0], j.limit)
	y.paused = append(y.paused, id)
	return true
}

// endless implements policy: nobody gives way any more.
func (y *yielding) endless() { y.firm = true }
