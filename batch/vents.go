package batch

// vents are the parts of nodes that came free since jobs were last looked at, by
// conservative backfill on nodes. A job that found no earlier place can only find
// one that reaches into a vent, on a node where it has room for all of its time.
// Those of the pass before come first, as jobs in their order left them: what those ahead
// of a job left was there when it was looked at, and is no news to it.
type vents struct {
	p      *nodePlan
	parts  []vent
	before []leaver // of the pass before
	moved  []leaver // of this one
	known  int      // of both so many jobs, and so many of the parts,
	first  int      // were there when the job looked at was looked at last
	old    int      // of the parts, so many need not be looked at in the next pass
	latest []int32  // by node: the place of its last part, from 1; 0: it has none
	ends   []int64  // by node: the latest end of its parts
	gaps   map[gapKind]*gapList
	twins  twins
	dates  dates // of the job looked at: those in which it may find an earlier place
}

// vent is a node of which something came free in [from, to).
type vent struct {
	node     int32
	next     int32 // the place of the one before on the same node, from 1; 0: there is none
	from, to int64
	end      int64 // what is free beside it ends
}

// leaver is a job that was moved, and how many parts there were then.
type leaver struct {
	entry
	parts int
}

// gap is a stretch in which a node has room for something of a job without a break,
// and a vent in it.
type gap struct {
	from, to      int64
	opens, closes int64 // the vent
	part          int   // its place
}

// gapKind is what gaps are of: jobs that ask for the same of a node, and for so many
// processors of it at least.
type gapKind struct {
	kind  int // of twins
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
			v.parts = append(v.parts, vent{node: s.node, from: from, to: to})
		}
	}
}

// begin is for a new pass.
func (v *vents) begin(p *nodePlan) {
	v.p = p
	if len(v.latest) < len(p.nodes) {
		v.latest, v.ends = make([]int32, len(p.nodes)), make([]int64, len(p.nodes))
	}
	if v.gaps == nil {
		v.gaps = map[gapKind]*gapList{}
	}
	for _, l := range v.gaps {
		l.clear()
	}
	v.twins.begin(p)
	was, n := v.parts, 0
	v.parts, v.known, v.first = v.parts[:0], 0, 0
	for i, part := range was {
		v.add(max(part.from, p.now), part.to, part.node)
		for ; n < len(v.before) && v.before[n].parts == i+1; n++ {
			v.before[n].parts = len(v.parts)
		}
	}
	v.old = len(v.parts)
}

// add takes in that something came free on a node.
func (v *vents) add(from, to int64, node int32) {
	if from >= to {
		return
	}
	end := max(to, v.p.nodes[node].clear(to))
	v.parts = append(v.parts, vent{node, v.latest[node], from, to, end})
	v.latest[node], v.ends[node] = int32(len(v.parts)), max(v.ends[node], end)
}

// leave takes in that a job was moved and has left parts behind.
func (v *vents) leave(e *entry) {
	n := v.old
	if k := len(v.moved); k > 0 {
		n = v.moved[k-1].parts
	}
	if n < len(v.parts) {
		v.moved = append(v.moved, leaver{*e, len(v.parts)})
	}
}

// pass is for the next job in order, which is to be looked at.
func (v *vents) pass(e *entry) {
	for ; v.known < len(v.before) && !v.before[v.known].after(e); v.known++ {
		v.first = v.before[v.known].parts
	}
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
		v.latest[part.node], v.ends[part.node] = 0, 0
	}
	v.parts = append(v.parts[:0], v.parts[v.old:]...)
	for i := range v.moved {
		v.moved[i].parts -= v.old
	}
	v.before, v.moved = v.moved, v.before[:0]
}

// reach is from when on and before when a job may find an earlier place, and sets the
// dates on which: none but in a gap that is long enough, or joined to its own place.
func (v *vents) reach(j *job) (from, before int64) {
	from = never
	clear(v.dates.in)
	for _, s := range j.shares {
		if v.ends[s.node] < j.planned {
			continue
		}
		begins := never
		for i := int(v.latest[s.node]); i > v.first; i = int(v.parts[i-1].next) {
			if part := &v.parts[i-1]; part.end >= j.planned {
				begins = min(begins, part.from)
			}
		}
		if begins == never {
			continue
		}
		// What it has itself may add to what came free.
		if first := v.p.nodes[s.node].since(max(begins-j.limit+1, v.p.now), j); first < j.planned {
			from, before = min(from, first), j.planned
			v.dates.add(first, j.planned)
		}
	}
	l := v.list(j)
	class, _ := sizeClass(j.limit)
	for ; class < len(l.gaps); class++ {
		gaps := l.gaps[class]
		for i := len(gaps) - 1; i >= 0 && gaps[i].part >= v.first; i-- {
			g := &gaps[i]
			first, last := max(g.from, g.opens-j.limit+1), min(g.to-j.limit, g.closes-1, j.planned-1)
			if first <= last {
				from, before = min(from, first), max(before, last+1)
				v.dates.add(first, last+1)
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
	kind := gapKind{v.twins.kind(j.Need), j.least()}
	l := v.gaps[kind]
	if l == nil {
		l = &gapList{}
		v.gaps[kind] = l
	}
	for l.seen = max(l.seen, v.first); l.seen < len(v.parts); l.seen++ {
		if part := &v.parts[l.seen]; j.Need.serves(part.node) {
			l.take(v.p, j.Need, kind.procs, part)
		}
	}
	return l
}

// take takes in the gaps into which a vent leads, the one that is seen next.
func (l *gapList) take(p *nodePlan, n *Need, procs int32, part *vent) {
	t := &p.nodes[part.node]
	if t.reserved > 0 {
		l.add(gap{p.now, never << 1, part.from, part.to, l.seen})
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
		g := gap{p.now, never << 1, part.from, part.to, l.seen}
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
		v.before = v.before[:0]
		return
	}
	survey(m, &p.queue)
	v.dates.on(nodes)
	for _, b := range p.queue.blocks {
		for i := range b.jobs {
			id := b.jobs[i].job
			j := &m.jobs[id]
			if v.pass(&b.jobs[i]); j.planned <= m.now {
				continue
			}
			from, before, dates := m.now, j.planned, (*dates)(nil)
			if !m.plain {
				from, before = v.reach(j)
				dates = &v.dates
			}
			if from >= before {
				continue
			}
			if at := sooner(nodes, j, from, before, dates); at < j.planned {
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
		p.vents.add(j.leaves(s, was), was+j.limit, s.node)
	}
	p.vents.leave(m.entry(id))
}

// leaves is from when on a job that was moved to an earlier place has left a part of its
// place of before: most move by a little, and have the same nodes until then.
func (j *job) leaves(s share, was int64) int64 {
	for _, n := range j.shares {
		if n.node == s.node && n.procs >= s.procs {
			return max(was, j.planned+j.limit)
		}
	}
	return was
}
