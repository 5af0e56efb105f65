package batch

import (
	"cmp"
	"math"
	"slices"
)

// nodePlan is the plan of a machine of unlike nodes: every job is placed on
// nodes by processors, memory, disk, GPUs and features.
type nodePlan struct {
	now   int64
	sum   *profile // processors of all nodes together: what no placement can exceed
	nodes []timeline
	// releases are the times at which something comes free, with the node;
	// what comes free of a reservation is on node -1.
	releases waiting
	sweep    []int32 // memory for the method of this name
	rooms    rooms
	reserved bool // there are reservations
	shut     []bool
}

// Need is what a job asks of nodes beyond processors.
type Need struct {
	Nodes  int      // number of nodes, processors spread evenly; 0: any
	Memory int64    // MB per processor
	Disk   int64    // MB per node
	GPUs   int      // per node
	Whole  bool     // shares its nodes with nobody
	id     int      // its place among the needs of the cluster, from 1
	on     []int32  // the nodes that could serve it, in order
	serve  []uint64 // the same, a bit for each node
	access int32    // the reservation it may use, from 1; 0: none
	// from and to are when it may run; to is 0 where it may at any time.
	from, to int64
}

// serves tells whether a node could serve it.
func (n *Need) serves(node int32) bool { return n.serve[node>>6]>>(node&63)&1 != 0 }

// allow adds a node to those that could serve it.
func (n *Need) allow(node int32) {
	n.on = append(n.on, node)
	for int(node)>>6 >= len(n.serve) {
		n.serve = append(n.serve, 0)
	}
	n.serve[node>>6] |= 1 << (node & 63)
}

// share is the part of a job on one node.
type share struct {
	node  int32
	procs int32
}

func newNodePlan(from int64, nodes []amounts) *nodePlan {
	total := 0
	p := &nodePlan{now: from, nodes: make([]timeline, len(nodes))}
	for i, n := range nodes {
		p.nodes[i].have = n
		p.nodes[i].count()
		total += int(n.procs)
	}
	p.sum = newProfile(from, total)
	return p
}

func (p *nodePlan) clone(into plan) plan {
	c, ok := into.(*nodePlan)
	if !ok || len(c.nodes) != len(p.nodes) {
		c = &nodePlan{nodes: make([]timeline, len(p.nodes))}
	}
	c.now, c.sum, c.rooms, c.reserved = p.now, p.sum.clone(c.sum), rooms{}, p.reserved
	c.releases = p.releases.clone(c.releases)
	for i := range p.nodes {
		held, steps := append(c.nodes[i].held[:0], p.nodes[i].held...), c.nodes[i].steps[:0]
		c.nodes[i] = p.nodes[i]
		c.nodes[i].held, c.nodes[i].steps, c.nodes[i].known = held, steps, false
	}
	return c
}

// windows are those of all nodes together: what no placement can exceed.
func (p *nodePlan) windows(now int64, ws windows) (windows, bool) {
	list, _ := pool{p.sum}.windows(now, ws)
	return list, false
}

func (p *nodePlan) fits(j *job, _ int64) bool {
	n := j.Need
	if n.from > p.now || n.to > 0 && p.now+j.limit > n.to {
		return false
	}
	r := p.room(n)
	if r.total < int64(j.procs) || r.failed(j, p.rooms.version) {
		return false
	}
	if p.choose(j, p.now, nil) {
		return true
	}
	r.fail(j, p.rooms.version)
	return false
}

// bounds: on nodes a job may find no room with any number of processors free.
func (p *nodePlan) bounds(from, to int64) (least, most int32) {
	_, most = p.sum.bounds(from, to)
	return math.MinInt32 / 2, most
}

func (p *nodePlan) forget(now int64) {
	p.now = now
	p.rooms.version++
	p.sum.forget(now)
	for e, ok := p.releases.head(); ok && e.key < float64(now); e, ok = p.releases.head() {
		p.releases.removeAt(place{})
	}
}

func (p *nodePlan) earliest(j *job, from, before int64) int64 {
	at, end := max(from, j.Need.from), before
	if j.Need.to > 0 {
		end = min(before, j.Need.to-j.limit+1)
	}
	if at = p.sum.earliest(at, end, never, j.limit, j.procs); at >= end {
		return before
	}
	s := sweep{p: p, j: j, at: at, each: 1, want: int64(j.procs), free: p.sweep}
	if j.Need.Nodes > 0 {
		s.want = int64(j.Need.Nodes)
		s.each = (j.procs + int32(s.want) - 1) / int32(s.want)
	}
	at = s.search(end)
	if p.sweep = s.free; at >= end {
		return before
	}
	return at
}

func (p *nodePlan) earlier(j *job, from, before int64) int64 {
	shares := slices.Clone(j.shares)
	p.vacate(j, j.planned, j.planned+j.limit)
	at := p.earliest(j, from, before)
	p.hold(j, j.planned, j.planned+j.limit, shares)
	j.shares = shares
	if at < before {
		return at
	}
	return j.planned
}

// choose picks nodes for j from the time at on, adding them to *into unless
// that is nil, and tells whether there are enough. The nodes with the least
// room left are taken first, so that large gaps stay.
func (p *nodePlan) choose(j *job, at int64, into *[]share) bool {
	each, nodes := j.procs, 1<<30
	if j.Need.Nodes > 0 {
		nodes = j.Need.Nodes
		each = (j.procs + int32(nodes) - 1) / int32(nodes)
	}
	var now []int32 // the room of each node at this moment
	if at == p.now {
		r := p.room(j.Need)
		if now = r.free; r.total < int64(j.procs) {
			return false
		}
	}
	var found []share
	left := j.procs
	for _, n := range j.Need.on {
		room := int32(0)
		if now != nil && now[n] == 0 || p.shut != nil && p.shut[n] {
			continue
		}
		switch t := &p.nodes[n]; {
		case now == nil:
			room = t.room(at, at+j.limit, j.Need)
		case t.begin <= at: // nothing begins after now
			room = now[n]
		default:
			room = t.room(at, at+j.limit, j.Need)
		}
		if j.Need.Nodes > 0 {
			if room < each {
				continue
			}
			room = each
		}
		if room <= 0 {
			continue
		}
		if into != nil {
			found = append(found, share{n, room})
		} else if left, nodes = left-room, nodes-1; left <= 0 || nodes == 0 {
			return true
		}
	}
	if into == nil {
		return false
	}
	if j.Need.Nodes == 0 {
		slices.SortStableFunc(found, func(a, b share) int { return cmp.Compare(a.procs, b.procs) })
		if j.compact {
			found = fewest(found, j.procs)
		}
	}
	for _, s := range found {
		if s.procs = min(s.procs, left); s.procs > 0 {
			left -= s.procs
			if j.Need.Whole {
				s.procs = p.nodes[s.node].have.procs
			}
			*into = append(*into, s)
		}
	}
	return left <= 0
}

// fewest puts, of nodes by their room, the one first that is the least to hold
// all, else those with the most room.
func fewest(found []share, procs int32) []share {
	if i := slices.IndexFunc(found, func(s share) bool { return s.procs >= procs }); i >= 0 {
		return found[i : i+1]
	}
	slices.SortStableFunc(found, func(a, b share) int { return cmp.Compare(b.procs, a.procs) })
	return found
}

func (p *nodePlan) occupy(j *job, from, to int64) {
	var shares []share
	p.choose(j, from, &shares)
	p.hold(j, from, to, shares)
	j.shares = shares
}

func (p *nodePlan) move(j *job, was int64) {
	p.vacate(j, was, was+j.limit)
	p.occupy(j, j.planned, j.planned+j.limit)
}

// hold takes given parts of nodes for a job.
func (p *nodePlan) hold(j *job, from, to int64, shares []share) {
	total := int32(0)
	for _, s := range shares {
		part := j.Need.part(s.procs)
		if j.blocks {
			part.procs = p.nodes[s.node].have.procs
		}
		p.put(s.node, holding{from, to, j.seq, 0, part}, j.Need.access)
		p.release(to, s.node)
		total += s.procs
	}
	p.sum.change(from, to, -total)
}

// put takes a part of a node, of which what lies in the reservation access is
// taken from what that keeps.
func (p *nodePlan) put(node int32, h holding, access int32) {
	if access > 0 {
		if from, to, ok := p.nodes[node].kept(access); ok && max(from, h.from) < min(to, h.to) {
			ahead, in, behind := h, h, h
			ahead.to, in.from, in.to, behind.from = from, max(from, h.from), min(to, h.to), to
			in.within = access
			for _, part := range []holding{ahead, in, behind} {
				if part.from < part.to {
					p.take(node, part)
				}
			}
			return
		}
	}
	p.take(node, h)
}

// keep reserves parts of nodes. The processors stay in the sum of those that
// some job might use.
func (p *nodePlan) keep(reservation int32, from, to int64, shares []share) {
	p.reserved = true
	for _, s := range shares {
		p.take(s.node, holding{from, to, -int64(reservation), reservation, amounts{procs: s.procs}})
		p.release(to, s.node)
	}
}

// part is what so many processors of a job hold on a node.
func (n *Need) part(procs int32) amounts {
	return amounts{procs, n.Memory * int64(procs), n.Disk, int32(n.GPUs)}
}

func (p *nodePlan) take(node int32, h holding) {
	t := &p.nodes[node]
	t.held = append(t.held, h)
	t.add(&h)
	when := h.to
	if h.from > p.now {
		when = h.from
	}
	p.rooms.change(node, when)
}

func (p *nodePlan) release(at int64, node int32) {
	if at < never {
		p.releases.insert(entry{key: float64(at), seq: int64(node)})
	}
}

// vacate ends what j holds at from; what j held before is past.
func (p *nodePlan) vacate(j *job, from, to int64) {
	total := int32(0)
	for _, s := range j.shares {
		t := &p.nodes[s.node]
		t.drop(j.seq)
		p.rooms.change(s.node, never)
		p.releases.remove(entry{key: float64(to), seq: int64(s.node)})
		total += s.procs
	}
	p.sum.change(from, to, total)
}
