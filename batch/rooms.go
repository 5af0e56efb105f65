package batch

import (
	"cmp"
	"slices"
)

// rooms remembers, for each kind of need that is asked for, how many
// processors of it every node can take at this moment, whatever is planned
// for later. Only nodes that changed since are looked at again.
type rooms struct {
	needs   map[*Need]*room
	changed []int32 // nodes, in order of the changes
	dropped int     // changes no longer in the list
	soonest int64   // nothing held begins or ends before, by the plan
	checked int64   // when time's changes were last looked for
	version int64   // of all that is held, and of the time
	takings []begin // memory for the method of this name
}

// room is one kind's room on each node.
type room struct {
	free  []int32 // by node; 0 on nodes that do not serve it
	total int64
	seen  int // changes taken in, dropped ones counted
	// ws are the windows open from now on where any nodes will do; they are
	// those of a version.
	ws      windows
	version int64
}

// mostRooms bounds what is remembered, in numbers.
const mostRooms = 1 << 22

// change notes that what is held on a node is no longer the same, and when
// what is new on it begins or ends.
func (r *rooms) change(node int32, when int64) {
	r.version++
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
	known := r.needs[n]
	if known == nil {
		if r.needs == nil || len(r.needs)*len(p.nodes) > mostRooms {
			r.needs = map[*Need]*room{}
		}
		known = &room{free: make([]int32, len(p.nodes)), seen: -1, version: -1}
		r.needs[n] = known
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
			if _, on := slices.BinarySearch(n.on, node); !on {
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
	if t.reserved == 0 {
		return t.learn(now)
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
	r.soonest = never
	for i := range p.nodes {
		t := &p.nodes[i]
		if t.end > p.now && t.begin <= r.checked && t.reserved == 0 {
			r.soonest = min(r.soonest, t.end)
			continue
		}
		for k := range t.held {
			h := &t.held[k]
			if h.to > p.now {
				r.soonest = min(r.soonest, h.to)
			}
			if h.from > p.now {
				r.soonest = min(r.soonest, h.from)
			}
		}
		if len(r.needs) > 0 {
			r.changed = append(r.changed, int32(i))
		}
	}
	r.checked = p.now
}

// open lists the windows open from now on for a need, all nodes together: up
// to so many processors until the next of them are taken.
func (p *nodePlan) open(n *Need) windows {
	r := p.room(n)
	if r.version == p.rooms.version {
		return r.ws
	}
	left, taken := r.total, p.takings(n, r)
	r.ws, r.version = r.ws[:0], p.rooms.version
	for i := 0; i < len(taken) && left > 0; {
		at := taken[i].at
		r.ws = append(r.ws, window{int32(left), at - p.now})
		for ; i < len(taken) && taken[i].at == at; i++ {
			left -= int64(taken[i].used.procs)
		}
	}
	if left > 0 {
		r.ws = append(r.ws, window{int32(left), never})
	}
	return r.ws
}

// takings lists, in order of time, by how much the room for a need shrinks
// and when.
func (p *nodePlan) takings(n *Need, r *room) []begin {
	list := p.rooms.takings[:0]
	for _, node := range n.on {
		t := &p.nodes[node]
		if t.begin <= p.now || r.free[node] == 0 {
			continue
		}
		room, from := r.free[node], len(list)
		for _, b := range t.later(p.now, n.access) {
			list = append(list, begin{b.at, amounts{procs: t.have.less(b.used, n)}})
		}
		mine := list[from:]
		slices.SortFunc(mine, func(a, b begin) int { return cmp.Compare(a.at, b.at) })
		for i := range mine {
			left := min(room, mine[i].used.procs)
			mine[i].used.procs, room = room-left, left
		}
	}
	p.rooms.takings = list
	slices.SortFunc(list, func(a, b begin) int { return cmp.Compare(a.at, b.at) })
	return list
}
