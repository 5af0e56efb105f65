package batch

// rooms remembers, for each kind of need that is asked for, how many
// processors of it every node can take at this moment, whatever is planned
// for later. Only nodes that changed since are looked at again.
type rooms struct {
	kinds   []*room // by Need.kind
	vain    []vains // by Need.id
	changed []int32 // nodes, in order of the changes
	n       int     // of kinds that have a room
	latest  []int   // by node: its last change, dropped ones counted
	dropped int     // changes no longer in the list
	next    []int64 // by node: nothing held begins or ends before, by the plan
	soonest []int64 // the least of them, of 64 nodes each
	at      int64   // when that was last looked at
	version int64   // of all that is held, and of the time
}

// room is one kind's room on each node.
type room struct {
	berths
	count []int32 // nodes by their room
	total int64
	seen  int // changes taken in, dropped ones counted
	ws    windows
	falls []fall
	at    int64 // the version of both
}

// vains are widths and limits that did not fit, of one version.
type vains struct {
	list    [4]entry
	n       int // the list is used round and round
	version int64
}

// failed tells whether a job asks for at least as much as one that did not fit.
func (r *rooms) failed(j *job) bool {
	if j.Need.id >= len(r.vain) || r.vain[j.Need.id].version != r.version {
		return false
	}
	v := &r.vain[j.Need.id]
	for i := range min(v.n, len(v.list)) {
		if e := &v.list[i]; e.procs <= j.procs && e.limit <= j.limit {
			return true
		}
	}
	return false
}

// fail notes a job that did not fit.
func (r *rooms) fail(j *job) {
	for j.Need.id >= len(r.vain) {
		r.vain = append(r.vain, vains{version: -1})
	}
	v := &r.vain[j.Need.id]
	if v.version != r.version {
		v.version, v.n = r.version, 0
	}
	v.list[v.n%len(v.list)] = entry{procs: j.procs, limit: j.limit}
	v.n++
}

// mostRooms bounds what is remembered, in numbers.
const mostRooms = 1 << 22

// change notes that what is held on a node is no longer the same, and when
// what is new on it begins or ends.
func (r *rooms) change(node int32, when int64) {
	r.version++
	if int(node) < len(r.next) {
		r.next[node] = min(r.next[node], when)
		r.soonest[node>>6] = min(r.soonest[node>>6], when)
	}
	r.note(node)
}

// note lists a change, where somebody may ask.
func (r *rooms) note(node int32) {
	if len(r.kinds) > 0 {
		r.latest[node] = r.dropped + len(r.changed)
		r.changed = append(r.changed, node)
	}
}

// room is the room for a need at this moment.
func (p *nodePlan) room(n *Need) *room {
	r := &p.rooms
	r.expire(p)
	if n := len(r.changed); n > 2*len(p.nodes)+64 { // the last ones most kinds have yet to see
		r.dropped += n / 2
		r.changed = append(r.changed[:0], r.changed[n/2:]...)
	}
	if r.latest == nil {
		r.latest = make([]int, len(p.nodes))
	}
	for n.kind >= len(r.kinds) {
		r.kinds = append(r.kinds, nil)
	}
	known := r.kinds[n.kind]
	if known == nil {
		if r.n++; r.n*len(p.nodes) > mostRooms {
			r.n = 1
			clear(r.kinds)
		}
		known = &room{berths: berths{}.sized(len(p.nodes)), count: make([]int32, p.widest+1), seen: -1, at: -1}
		r.kinds[n.kind] = known
	}
	known.renew(p, n)
	return known
}

// renew takes the changes in.
func (known *room) renew(p *nodePlan, n *Need) {
	r := &p.rooms
	if known.seen < r.dropped {
		known.total = 0
		clear(known.count)
		clear(known.some)
		for _, node := range n.on {
			free := p.nodes[node].have.room(p.nodes[node].current(p.now, n.access), n)
			known.total += int64(free)
			known.count[free]++
			known.set(node, free)
		}
	} else {
		for i, node := range r.changed[known.seen-r.dropped:] {
			if r.latest[node] != known.seen+i || !n.serves(node) {
				continue
			}
			free, was := p.nodes[node].have.room(p.nodes[node].current(p.now, n.access), n), known.free[node]
			known.total += int64(free - was)
			known.count[was]--
			known.count[free]++
			known.set(node, free)
		}
	}
	known.seen = r.dropped + len(r.changed)
}

// atLeast counts the nodes with so much room.
func (r *room) atLeast(each int32) (n int64) {
	for _, k := range r.count[min(int(each), len(r.count)):] {
		n += int64(k)
	}
	return n
}

// current is what is held at this moment.
func (t *timeline) current(now int64, access int32) amounts {
	if t.closed.within(now, now+1) {
		return t.have
	}
	if begin, end := t.bound(); t.reserved == 0 && begin <= now && now < end {
		return t.sum
	}
	return t.at(now, access)
}

// expire notes the nodes on which time alone has changed something: where
// what is held has ended by the plan and is still to be taken away, or where
// it has begun.
func (r *rooms) expire(p *nodePlan) {
	if r.at == p.now {
		return
	}
	if r.at = p.now; r.next == nil {
		r.next, r.soonest = make([]int64, len(p.nodes)), make([]int64, (len(p.nodes)+63)/64)
	}
	for block, soonest := range r.soonest {
		if soonest > p.now {
			continue
		}
		soonest = never
		for i := block << 6; i < min(block<<6+64, len(r.next)); i++ {
			if r.next[i] <= p.now {
				r.next[i] = p.nodes[i].turn(p.now)
				r.note(int32(i))
			}
			soonest = min(soonest, r.next[i])
		}
		r.soonest[block] = soonest
	}
}

// turn is when what is held on a node changes next by the plan, after a time.
func (t *timeline) turn(now int64) int64 {
	t.learn()
	at := t.closed.turn(now)
	if k := t.past(now); k < len(t.steps) {
		return min(at, t.steps[k])
	}
	return at
}
