package batch

// recall is what a run forward knows of the places that the run before, of the same machine
// and in the same memory, gave first of all. A node is clean as long as the same is held on
// it in both, from now on: nothing has come, gone or changed there since, and the jobs ahead
// that have a part of it have the same one. A job whose place was on clean nodes has it again
// where none of the others has room for it as early: what could not serve it then cannot now.
type recall struct {
	of    *Machine // both are copies of it
	at    int64    // when the run before was, and
	seen  int64    // changes of the plan that it knew of
	ready bool     // no places were given in this run yet
	on    bool     // they are being given
	lists [mostSets + 1]recalled
	list  [mostSets + 1]uint8 // by Need.set: the one of its jobs
	given []share             // of the place last found, where it is one given again
	again int                 // so many were in this run
}

// recalled is the jobs of sets of nodes that have nodes in common, in order.
type recalled struct {
	sets  uint16   // a bit for each
	was   []sought // in the run before
	next  int      // so many of these are done with
	jobs  []sought // in this run
	dirty []int32  // nodes that are not clean
	in    []uint64 // the same, a bit for each
	lost  bool     // they are too many
}

// sought is a job that was looked for a place for, and what came of it.
type sought struct {
	need    *Need
	seq     int64
	limit   int64
	planned int64   // its place, or a time before which it has none
	shares  []share // of the place; nil: it got none
	procs   int32
}

// mostDirty bounds the nodes that are looked at one by one for each job, and mostGone how many
// that are no longer in the queue are passed over at once.
const (
	mostDirty = 32
	mostGone  = 8
)

// is tells whether it was a job that asks for the same.
func (k *sought) is(j *job) bool {
	return k.seq == j.seq && k.need == j.Need && k.limit == j.limit && k.procs == j.procs
}

// renew is for a run of a machine in the same memory, that has not begun.
func (r *recall) renew(of *Machine) {
	if r.of != of {
		*r = recall{of: of}
	}
	p, byNode := of.plan.(*nodePlan)
	r.ready, r.on, r.again = byNode && !p.reserved && !of.plain, false, 0
}

// begin is for giving places to the jobs of a queue, in order, none of which has one.
func (r *recall) begin(m *Machine, queue *waiting) {
	if !r.ready {
		return
	}
	r.ready = false
	p, first := m.plan.(*nodePlan), r.of.plan.(*nodePlan)
	if r.on = p.touches.n == first.touches.n; !r.on {
		return
	}
	used := uint16(0)
	for _, b := range queue.blocks {
		for i := range b.jobs {
			used |= 1 << m.jobs[b.jobs[i].job].Need.set
		}
	}
	for set := range r.lists {
		together := p.sets.together(set, used)
		if together == 0 || together&(1<<set-1) != 0 { // they are in the list of the first of them
			r.lists[set] = recalled{}
			continue
		}
		for other := range r.list {
			if together>>other&1 != 0 {
				r.list[other] = uint8(set)
			}
		}
		l := &r.lists[set]
		l.lost = l.sets != together || m.now < r.at
		l.begin(p, together, r.seen)
	}
	r.seen, r.at = p.touches.n, m.now
}

// begin is for a run on a plan of which so many changes were known to the run before.
func (l *recalled) begin(p *nodePlan, sets uint16, since int64) {
	l.was, l.jobs = l.jobs, l.was[:0]
	l.sets, l.next, l.dirty = sets, 0, l.dirty[:0]
	if words := (len(p.nodes) + 63) / 64; len(l.in) != words {
		l.in = make([]uint64, words)
	}
	clear(l.in)
	for node, at := range p.touches.at {
		if at > since && p.sets.serve(sets, int32(node)) {
			l.soil(int32(node))
		}
	}
}

// soil notes that a node is not clean.
func (l *recalled) soil(node int32) {
	if bit := uint64(1) << (node & 63); l.in[node>>6]&bit == 0 && !l.lost {
		l.in[node>>6] |= bit
		l.dirty = append(l.dirty, node)
		l.lost = len(l.dirty) > mostDirty
	}
}

// end is for when all have been looked at.
func (r *recall) end() { r.on = false }

// known is what came of a job in the run before, where it is next there; nil: it was not.
func (l *recalled) known(j *job) *sought {
	for i := l.next; i < min(len(l.was), l.next+mostGone) && !l.lost; i++ {
		if !l.was[i].is(j) {
			continue
		}
		for ; l.next < i; l.next++ {
			l.leave(l.was[l.next].shares)
		}
		return &l.was[i]
	}
	return nil
}

// leave notes that nodes are not clean.
func (l *recalled) leave(shares []share) {
	for _, s := range shares {
		l.soil(s.node)
	}
}

// same is what came of a job in the run before, where that comes of it again; nil: that is
// not known.
func (r *recall) same(m *Machine, j *job) *sought {
	if !r.on {
		return nil
	}
	l := &r.lists[r.list[j.Need.set]]
	k := l.known(j)
	if k == nil || k.planned < m.now {
		return nil
	}
	end := k.planned // also behind what is asked for: it is noted as a time before which there is none
	if k.shares != nil {
		end++ // on other nodes if one of those has room then
	}
	for _, s := range k.shares {
		if l.in[s.node>>6]>>(s.node&63)&1 != 0 {
			return nil
		}
	}
	p := m.plan.(*nodePlan)
	each := p.portion(j)
	for _, node := range l.dirty {
		if j.Need.serves(node) && opens(&p.nodes[node], m.now, end, j.limit, j.Need, each) {
			return nil
		}
	}
	return k
}

// find finds a job's place before a time, not before the time it is planned for.
func (r *recall) find(m *Machine, j *job, end int64) {
	k := r.same(m, j)
	if r.given = nil; k != nil {
		j.planned, r.given = max(j.planned, k.planned), k.shares
	}
	if r.given == nil && j.planned < end {
		j.planned = m.plan.earliest(j, j.planned, end)
	}
}

// opens tells whether a node has room for a part of a job of a length from some time on of
// [from, before).
func opens(t *timeline, from, before, limit int64, n *Need, each int32) bool {
	t.learn()
	since, open := from, false
	for i := t.past(from); since < before; i++ {
		if was := open; t.some(i, n, each) {
			if open = true; !was && i > 0 {
				since = max(from, t.steps[i-1])
			}
			if since < before && (i == len(t.steps) || t.steps[i]-since >= limit) {
				return true
			}
		} else {
			open = false
		}
		if i == len(t.steps) {
			return false
		}
	}
	return false
}

// note takes in what has come of a job.
func (r *recall) note(j *job, shares []share) {
	if !r.on {
		return
	}
	r.given = nil
	l := &r.lists[r.list[j.Need.set]]
	if k := l.known(j); k != nil {
		l.next++
		if !sameShares(k.shares, shares) || shares != nil && k.planned != j.planned {
			l.leave(k.shares)
			l.leave(shares)
		}
	} else {
		l.leave(shares)
	}
	l.jobs = append(l.jobs, sought{j.Need, j.seq, j.limit, j.planned, shares, j.procs})
}

// sameShares tells whether two are the same nodes and parts.
func sameShares(a, b []share) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// seat puts a job where a place was found for it, on nodes that are known or to be chosen.
func seat(m *Machine, j *job) {
	if shares := m.recall.given; shares != nil {
		hold(m.plan, j, j.planned, shares, j.limit)
		m.recall.again++
	} else {
		m.plan.occupy(j, j.planned, j.planned+j.limit)
	}
	m.recall.note(j, j.shares)
}

// touches are the changes of what is held on nodes, as they are counted.
type touches struct {
	n  int64
	at []int64 // by node: its last
}

// clone copies them into the memory of an older copy.
func (t *touches) clone(old touches) touches { return touches{t.n, append(old.at[:0], t.at...)} }

// note counts a change on a node.
func (t *touches) note(node int32) {
	t.n++
	t.at[node] = t.n
}

// serve tells whether a node is of one of some sets.
func (list nodeSets) serve(sets uint16, node int32) bool {
	for i := range list {
		if sets>>(i+1)&1 != 0 && list[i].serve[node>>6]>>(node&63)&1 != 0 {
			return true
		}
	}
	return sets&1 != 0
}

// together are, of some sets, one and those that have nodes in common with it, or with
// others of these: a bit each; 0: it is none of them.
func (list nodeSets) together(set int, of uint16) uint16 {
	part := uint16(1) << set & of
	for was := uint16(0); was != part; {
		was = part
		for other := range mostSets + 1 {
			if part>>other&1 != 0 {
				part |= list.meeting(other) & of
			}
		}
	}
	return part
}
