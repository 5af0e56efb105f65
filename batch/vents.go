package batch

// vents are the parts of nodes that came free since jobs were last looked at, by
// conservative backfill on nodes. A job that found no earlier place can only find
// one that reaches into a vent, on a node where it has room for all of its time.
type vents struct {
	p      *nodePlan
	parts  []vent
	old    int     // of the parts, so many need not be looked at in the next pass
	ends   []int64 // by node with a vent: when the last and what is free beside it end; else 0
	begins []int64 // the same: when the first begins
	gaps   map[gapKind]*gapList
}

// vent is a node of which something came free in [from, to).
type vent struct {
	node     int32
	from, to int64
}

// gap is a stretch in which a node has room for something of a job without a break,
// and the vent in it.
type gap struct {
	from, to int64
	vent
}

// gapKind is what gaps are of: jobs that ask for the same of a node, and for so many
// processors of it at least.
type gapKind struct {
	kind  int // Need.kind
	procs int32
}

// gapList is the gaps of one kind.
type gapList struct {
	gaps [][]gap // by class of length
	seen int     // parts taken in
}

// add takes in a gap.
func (l *gapList) add(g gap) {
	class, _ := sizeClass(g.to - g.from)
	for class >= len(l.gaps) {
		l.gaps = append(l.gaps, nil)
	}
	l.gaps[class] = append(l.gaps[class], g)
}

// clear begins anew, in the same memory.
func (l *gapList) clear() {
	for i := range l.gaps {
		l.gaps[i] = l.gaps[i][:0]
	}
	l.seen = 0
}

// gather takes in, between passes, that something came free on nodes.
func (v *vents) gather(from, to int64, shares []share) {
	for _, s := range shares {
		if from < to {
			v.parts = append(v.parts, vent{s.node, from, to})
		}
	}
}

// begin is for a new pass.
func (v *vents) begin(p *nodePlan) {
	v.p = p
	if len(v.ends) < len(p.nodes) {
		v.ends, v.begins = make([]int64, len(p.nodes)), make([]int64, len(p.nodes))
	}
	if v.gaps == nil {
		v.gaps = map[gapKind]*gapList{}
	}
	for _, l := range v.gaps {
		l.clear()
	}
	was := v.parts
	v.parts = v.parts[:0]
	for _, part := range was {
		v.add(max(part.from, p.now), part.to, part.node)
	}
	v.old = len(v.parts)
}

// add takes in that something came free on a node.
func (v *vents) add(from, to int64, node int32) {
	if from >= to {
		return
	}
	v.parts = append(v.parts, vent{node, from, to})
	if v.ends[node] == 0 {
		v.begins[node] = from
	}
	v.begins[node] = min(v.begins[node], from)
	v.ends[node] = max(v.ends[node], to, v.p.nodes[node].clear(to))
}

// clear is until when a node has a processor free, from just before a time on.
func (t *timeline) clear(at int64) int64 {
	if t.reserved > 0 {
		return never
	}
	t.learn()
	i := t.past(at - 1)
	if i > 0 && t.full(i-1) {
		return at
	}
	for ; i < len(t.steps); i++ {
		if t.full(i) {
			return t.steps[i]
		}
	}
	return never
}

// end is for the end of a pass: what came free in it is new to those before.
func (v *vents) end() {
	for _, part := range v.parts {
		v.ends[part.node] = 0
	}
	v.parts = append(v.parts[:0], v.parts[v.old:]...)
}

// reach is from when on and before when a job may find an earlier place.
func (v *vents) reach(j *job) (from, before int64) {
	from = never
	for _, s := range j.shares {
		if v.ends[s.node] < j.planned {
			continue
		}
		// What it has itself may add to what came free.
		if first := v.p.nodes[s.node].since(max(v.begins[s.node]-j.limit+1, v.p.now), j); first < j.planned {
			from, before = min(from, first), j.planned
		}
	}
	l := v.list(j)
	class, _ := sizeClass(j.limit)
	for ; class < len(l.gaps); class++ {
		for i := range l.gaps[class] {
			g := &l.gaps[class][i]
			first, last := max(g.from, g.vent.from-j.limit+1), min(g.to-j.limit, g.vent.to-1, j.planned-1)
			if first <= last {
				from, before = min(from, first), max(before, last+1)
			}
		}
	}
	return from, before
}

// since is from when on, at a time or later, a node has room for a part of a job
// without a break until the time that it is planned for.
func (t *timeline) since(from int64, j *job) int64 {
	if t.reserved > 0 {
		return from
	}
	t.learn()
	for i := t.past(j.planned - 1); i > 0; i-- {
		if !t.some(i, j.Need, j.least()) {
			if i < len(t.steps) {
				return max(from, t.steps[i])
			}
			return j.planned
		}
		if t.steps[i-1] <= from {
			break
		}
	}
	return from
}

// least is how many processors a job needs at least of each of its nodes.
func (j *job) least() int32 {
	if j.Need.Nodes > 0 {
		return j.each()
	}
	return 1
}

// list is the gaps for a job.
func (v *vents) list(j *job) *gapList {
	kind := gapKind{j.Need.kind, j.least()}
	l := v.gaps[kind]
	if l == nil {
		l = &gapList{}
		v.gaps[kind] = l
	}
	for ; l.seen < len(v.parts); l.seen++ {
		if part := v.parts[l.seen]; j.Need.serves(part.node) {
			l.take(v.p, j.Need, kind.procs, part)
		}
	}
	return l
}

// take takes in the gaps into which a vent leads.
func (l *gapList) take(p *nodePlan, n *Need, procs int32, part vent) {
	t := &p.nodes[part.node]
	if t.reserved > 0 {
		l.add(gap{p.now, never << 1, part})
		return
	}
	t.learn()
	i := t.past(part.from)
	for i > 0 && t.some(i, n, procs) {
		i--
	}
	for ; i <= len(t.steps) && (i == 0 || t.steps[i-1] < part.to); i++ {
		if !t.some(i, n, procs) {
			continue
		}
		g := gap{p.now, never << 1, part}
		if i > 0 {
			g.from = max(g.from, t.steps[i-1])
		}
		for i < len(t.steps) && t.some(i+1, n, procs) {
			i++
		}
		if i < len(t.steps) {
			g.to = t.steps[i]
		}
		if max(g.from, part.from) < min(g.to, part.to) {
			l.add(g)
		}
	}
}

// some tells whether there is room for so many processors before a step.
func (t *timeline) some(step int, n *Need, procs int32) bool {
	return step == 0 || t.have.room(t.used[step-1], n) >= procs
}

// compress moves jobs to earlier places, in order, where parts of nodes came free.
func (p *conservative) compress(m *Machine, nodes *nodePlan) {
	v := &p.vents
	v.begin(nodes)
	if len(v.parts) == 0 {
		return
	}
	survey(m, &p.queue)
	for _, b := range p.queue.blocks {
		for i := range b.jobs {
			id := b.jobs[i].job
			j := &m.jobs[id]
			if j.planned <= m.now {
				continue
			}
			from, before := m.now, j.planned
			if !m.plain {
				from, before = v.reach(j)
			}
			if from >= before {
				continue
			}
			if at := nodes.earlier(j, from, before); at < j.planned {
				p.bring(m, nodes, id, at)
			}
		}
	}
	v.end()
}

// bring moves a job to an earlier place.
func (p *conservative) bring(m *Machine, nodes *nodePlan, id int32, at int64) {
	j := &m.jobs[id]
	was, had := j.planned, j.shares
	j.planned = at
	p.due.set(id, at)
	if was == never {
		nodes.occupy(j, at, at+j.limit)
		return
	}
	nodes.move(j, was)
	for _, s := range had {
		p.vents.add(was, was+j.limit, s.node)
	}
}
