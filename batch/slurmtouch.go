package batch

import (
	"math"
	"slices"
)

// outlet is a node of which something has come free, from now on and until a
// time, since places were last made, or has been taken by a job that started: those
// ahead of it had not reckoned with it. It is offered to the jobs in their order: a
// place ahead keeps those behind off the node.
type outlet struct {
	node        int32
	next        int32 // of the same node, by place in the list, from 1; 0: none
	from, until int64
	end         int64 // from when on places ahead of the job looked at keep others off, beyond until
	taken       int64 // when it was taken; never: it has come free
	starter     entry // who took it
}

// opens notes that what a job has had on nodes has come free before its time.
func (p *slurm) opens(m *Machine, shares []share, until int64) {
	if m.following || (strides{p, m}).over() {
		return
	}
	for _, y := range p.yards {
		for _, s := range shares {
			if !y.stale && y.has(s.node) {
				y.opened = append(y.opened, outlet{node: s.node, until: until, end: never, taken: never})
			}
		}
	}
}

// offer goes with what has come free through the jobs that have been tried.
type offer struct {
	p      *nodePlan
	before int64 // places are looked for before
	list   []outlet
	by     []int32    // place in the list of the last, from 1, by node
	free   []*profile // processors free beside the places ahead: of all nodes, and of each set; nil: not asked for
	spare  []*profile // memory for these
	rooms  berths     // memory for chooses
}

// add takes in what has come free.
func (o *offer) add(list []outlet) {
	if o.p == nil {
		return
	}
	if len(o.by) < len(o.p.nodes) {
		o.by = make([]int32, len(o.p.nodes))
	}
	for _, n := range list {
		n.next = o.by[n.node]
		o.list = append(o.list, n)
		o.by[n.node] = int32(len(o.list))
	}
}

// begin is for a new pass.
func (o *offer) begin(p *nodePlan, before int64) {
	for _, n := range o.list {
		o.by[n.node] = 0
	}
	o.p, o.before, o.list = p, before, o.list[:0]
	o.spare = append(o.spare[:0], o.free...)
	o.free = o.free[:0]
}

// matters tells whether a job that has been tried, the one of held at a place, with
// its nodes at a time, may have another place by what has come free or was taken: it
// could begin earlier on such a node, or has others when it is to begin.
func (o *offer) matters(m *Machine, held []int32, i int, at int64, shares []share) bool {
	if len(o.list) == 0 {
		return false
	}
	j, e, doubt := &m.jobs[held[i]], m.entry(held[i]), false
	each := o.p.portion(j) // with less a node is of no use to it
	for k := range o.list {
		n := &o.list[k]
		if !j.Need.serves(n.node) {
			continue
		}
		if n.taken < never {
			doubt = doubt || at >= n.from && at < min(n.until, n.end-j.limit+1) && n.starter.after(e) && o.p.nodes[n.node].lasting(n.taken, at, j.Need) >= each
			continue
		}
		last := min(n.until-1, n.end-j.limit, at, o.before-1)
		if last < o.p.now || o.p.nodes[n.node].lasting(o.p.now+1, last, j.Need) < each {
			continue
		}
		doubt = doubt || last == at
		if last = min(last, at-1); last >= o.p.now && o.beside(m, j, held[:i]).earliest(o.p.now, last+1, never, j.limit, j.procs) <= last {
			return true
		}
	}
	return doubt && !o.chooses(m, j, at, shares, held[:i])
}

// late tells whether a job whose place should have begun before now gets the same
// nodes now.
func (o *offer) late(m *Machine, held []int32, i int, shares []share) bool {
	j := &m.jobs[held[i]]
	if o.p == nil {
		return m.plan.earliest(j, m.now, m.now+1) == m.now
	}
	return o.chooses(m, j, m.now, shares, held[:i])
}

// chooses tells whether a job that begins at a time gets these nodes beside what
// runs and the places of those ahead.
func (o *offer) chooses(m *Machine, j *job, at int64, shares []share, ahead []int32) bool {
	o.rooms = o.rooms.sized(len(o.p.nodes))
	for _, n := range j.Need.on {
		o.rooms.set(n, o.p.nodes[n].lasting(o.p.now+1, at, j.Need))
	}
	for _, id := range ahead {
		if k := &m.jobs[id]; k.planned < at+j.limit && at < k.planned+k.limit {
			for _, s := range k.shares {
				o.rooms.set(s.node, 0)
			}
		}
	}
	list, ok := o.p.parts(j, &o.rooms)
	return ok && slices.Equal(list, shares)
}

// lasting is the room for processors of a job at a time beside what began to be held
// before another.
func (t *timeline) lasting(before, at int64, n *Need) int32 {
	used := amounts{}
	for i := range t.held {
		if h := &t.held[i]; h.from < before && at < h.to {
			used = used.plus(&h.amounts)
		}
	}
	return t.have.room(used, n)
}

// beside is what is free for a job beside what runs and the places ahead of it.
func (o *offer) beside(m *Machine, j *job, ahead []int32) *profile {
	set := j.Need.set
	for len(o.free) <= set {
		o.free = append(o.free, nil)
	}
	if o.free[set] != nil {
		return o.free[set]
	}
	var memory *profile
	if set < len(o.spare) {
		memory, o.spare[set] = o.spare[set], nil
	}
	free := o.p.sum
	if set > 0 {
		free = o.p.sets[set-1].free
	}
	free = free.clone(memory)
	for _, id := range ahead {
		if k := &m.jobs[id]; k.planned < never {
			free.change(k.planned, k.planned+k.limit, -o.p.counted(set, k.shares))
		}
	}
	o.free[set] = free
	return free
}

// counted is how many processors some shares have of a set of nodes.
func (p *nodePlan) counted(set int, shares []share) (total int32) {
	for _, s := range shares {
		if set == 0 || p.sets[set-1].serve[s.node>>6]>>(s.node&63)&1 != 0 {
			total += s.procs
		}
	}
	return total
}

// pass goes on behind a job, whose place keeps others off.
func (o *offer) pass(j *job) {
	if j.planned == never {
		return
	}
	for _, s := range j.shares {
		for i := o.by[s.node]; i > 0; i = o.list[i-1].next {
			if n := &o.list[i-1]; j.planned+j.limit >= n.until {
				n.end = min(n.end, j.planned)
			}
		}
	}
	o.hold(j, j.planned)
}

// hold takes what a job has from a time on from what is free for those behind.
func (o *offer) hold(j *job, from int64) {
	for set, free := range o.free {
		if free != nil {
			free.change(from, from+j.limit, -o.p.counted(set, j.shares))
		}
	}
}

// begun goes on behind a job that has started on the nodes of its place, which was
// to begin at a time: it offers what that leaves, and takes what it has for longer.
func (o *offer) begun(j *job, at int64) {
	if o.p == nil {
		return
	}
	o.hold(j, o.p.now)
	o.add(o.p.leaves(j))
	for _, s := range j.shares {
		if at < o.p.now {
			all := entry{key: math.Inf(1)}
			o.add([]outlet{{node: s.node, from: at + j.limit, until: o.p.now + j.limit, end: never, taken: o.p.now, starter: all}})
		}
	}
}

// leaves lists the nodes of which a job that has started has not all.
func (p *nodePlan) leaves(j *job) (list []outlet) {
	for _, s := range j.shares {
		if s.procs < p.nodes[s.node].have.procs {
			list = append(list, outlet{node: s.node, until: p.now + j.limit, end: never, taken: never})
		}
	}
	return list
}

// takes notes that a job has started on some nodes, with which those ahead of one had not reckoned.
func (p *places) takes(m *Machine, id int32, behind entry) {
	j := &m.jobs[id]
	for _, s := range j.shares {
		p.taken = append(p.taken, outlet{node: s.node, until: m.now + j.limit, end: never, taken: m.now, starter: behind})
	}
}
