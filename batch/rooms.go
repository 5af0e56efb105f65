package batch

// rooms remembers, for each kind of need that is asked for, how many
// processors of it every node can take at this moment, whatever is planned
// for later. Only nodes that changed since are looked at again.
type rooms struct {
	needs   []*room // by Need.id
	changed []int32 // nodes, in order of the changes
	n       int     // of needs that have a room
	dropped int     // changes no longer in the list
	next    []int64 // by node: nothing held begins or ends before, by the plan
	soonest int64   // the least of them
	version int64   // of all that is held, and of the time
}

// room is one kind's room on each node.
type room struct {
	free   []int32 // by node; 0 on nodes that do not serve it
	total  int64
	seen   int      // changes taken in, dropped ones counted
	vain   [4]entry // widths and limits that did not fit, of the version of trials
	trials int      // vain is used round and round
	tried  int64
}

// failed tells whether a job asks for at least as much as one that did not fit.
func (r *room) failed(j *job, version int64) bool {
	if r.tried != version {
		return false
	}
	for i := range min(r.trials, len(r.vain)) {
		if v := &r.vain[i]; v.procs <= j.procs && v.limit <= j.limit {
			return true
		}
	}
	return false
}

// fail notes a job that did not fit.
func (r *room) fail(j *job, version int64) {
	if r.tried != version {
		r.tried, r.trials = version, 0
	}
	r.vain[r.trials%len(r.vain)] = entry{procs: j.procs, limit: j.limit}
	r.trials++
}

// mostRooms bounds what is remembered, in numbers.
const mostRooms = 1 << 22

// change notes that what is held on a node is no longer the same, and when
// what is new on it begins or ends.
func (r *rooms) change(node int32, when int64) {
	r.version++
	if int(node) < len(r.next) {
		r.next[node] = min(r.next[node], when)
	}
	r.soonest = min(r.soonest, when)
	if len(r.needs) > 0 {
		r.changed = append(r.changed, node)
	}
}

// room is the room for a need at this moment.
func (p *nodePlan) room(n *Need) *room {
	p.expire()
	r := &p.rooms
	if len(r.changed) > 4*len(p.nodes)+64 {
		r.dropped += len(r.changed)
		r.changed = r.changed[:0]
	}
	for n.id >= len(r.needs) {
		r.needs = append(r.needs, nil)
	}
	known := r.needs[n.id]
	if known == nil {
		if r.n++; r.n*len(p.nodes) > mostRooms {
			r.n = 1
			clear(r.needs)
		}
		known = &room{free: make([]int32, len(p.nodes)), seen: -1, tried: -1}
		r.needs[n.id] = known
	}
	p.renew(known, n)
	return known
}

// renew takes the changes in.
func (p *nodePlan) renew(known *room, n *Need) {
	r := &p.rooms
	if known.seen < r.dropped {
		known.total = 0
		for _, node := range n.on {
			known.free[node] = p.nodes[node].have.less(p.nodes[node].current(p.now, n.access), n)
			known.total += int64(known.free[node])
		}
	} else {
		for _, node := range r.changed[known.seen-r.dropped:] {
			if !n.serves(node) {
				continue
			}
			free := p.nodes[node].have.less(p.nodes[node].current(p.now, n.access), n)
			known.total += int64(free - known.free[node])
			known.free[node] = free
		}
	}
	known.seen = r.dropped + len(r.changed)
}

// current is what is held at this moment.
func (t *timeline) current(now int64, access int32) amounts {
	if t.reserved == 0 && t.begin <= now && now < t.end {
		return t.sum
	}
	return t.at(now, access)
}

// expire notes the nodes on which time alone has changed something: where
// what is held has ended by the plan and is still to be taken away, or where
// it has begun.
func (p *nodePlan) expire() {
	r := &p.rooms
	if p.now < r.soonest {
		return
	}
	if r.next == nil {
		r.next = make([]int64, len(p.nodes))
	}
	r.soonest = never
	for i, at := range r.next {
		if at <= p.now {
			t := &p.nodes[i]
			steps := t.learn()
			at = never
			if k := past(steps, p.now); k < len(steps) {
				at = steps[k].at
			}
			r.next[i] = at
			if len(r.needs) > 0 {
				r.changed = append(r.changed, int32(i))
			}
		}
		r.soonest = min(r.soonest, at)
	}
}
