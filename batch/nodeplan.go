package batch

import "math"

// nodePlan is the plan of a machine of unlike nodes: every job is placed on
// nodes by processors, memory, disk, GPUs and features.
type nodePlan struct {
	now   int64
	sum   *profile // processors of all nodes together: what no placement can exceed
	sets  nodeSets
	nodes []timeline
	chooser
	releases  releases
	sweep     berths // memory for the method of this name, with what swept says
	swept     swept
	known     []stretch // the same, where it goes by days
	rises     rises     // memory for rising
	ws        windows   // memory for wide
	rooms     rooms
	later     later
	leanest   int64 // the least memory that a node has for each of its processors
	heaviest  int64 // the most that a job has had for each of its own
	reserved  bool  // there are reservations
	shut      []bool
	clearings clearings
	touches   touches
	calendars calendars // where many places are made one after the other
	spares    calendars // that are not in use any more
}

// Need is what a job asks of nodes beyond processors.
type Need struct {
	Nodes int // number of nodes, processors spread evenly (under slurm: in any way); 0: any
	// MaxNodes is how many nodes it may have at most, where Nodes is 0 and under
	// slurm alone; 0: any number.
	MaxNodes int
	Each     int      // processors of a node: a multiple of so many; 0: any
	Core     int      // that nodes give together: what it has of a node is rounded up to a multiple; 0: one
	Memory   int64    // MB per processor
	Keeps    int64    // MB per node, of a suspended job, which has no processors
	Disk     int64    // MB per node
	GPUs     int      // per node
	Whole    bool     // shares its nodes with nobody
	Spread   bool     // the nodes with the most room are for it, under slurm alone
	id       int      // its place among the needs of the cluster, from 1
	kind     int      // the same of those that differ in Nodes alone
	set      int      // its place in the sets of the plan, from 1; 0: all nodes
	on       []int32  // the nodes that could serve it, in order
	serve    []uint64 // the same, a bit for each node
	around   []int32  // the nodes of its queue; the same where it names its nodes
	named    bool     // it does
	access   int32    // the reservation it may use, from 1; 0: none
	// from and to are when it may run; to is 0 where it may at any time.
	from, to int64
	apart    bool // it names a reservation
	cut      bool // it need only begin before to, and ends then: Slurm's
}

// last is when a job of a length may begin at the latest; never: at any time.
func (n *Need) last(limit int64) int64 {
	switch {
	case n == nil || n.to == 0:
		return never
	case n.cut:
		return n.to - 1
	}
	return n.to - limit
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
	p := &nodePlan{now: from, nodes: make([]timeline, len(nodes)), touches: touches{at: make([]int64, len(nodes))}, leanest: math.MaxInt64}
	for i, n := range nodes {
		p.nodes[i].have = n
		p.nodes[i].loose = true
		p.widest = max(p.widest, n.procs)
		p.leanest = min(p.leanest, n.memory/int64(max(1, n.procs)))
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
	c.now, c.sum, c.rooms, c.reserved, c.widest = p.now, p.sum.clone(c.sum), rooms{}, p.reserved, p.widest
	c.weights = p.weights
	c.leanest, c.heaviest = p.leanest, p.heaviest
	c.sets = p.sets.clone(c.sets)
	c.touches = p.touches.clone(c.touches)
	c.spares = append(c.spares, c.calendars...)
	c.calendars, c.clearings = c.calendars[:0], clearings{any: c.clearings.any}
	c.releases, c.swept = p.releases.clone(c.releases), swept{}
	c.later = later{append(c.later.nodes[:0], p.later.nodes...), append(c.later.in[:0], p.later.in...), 0}
	for i := range p.nodes {
		into, t := &c.nodes[i], &p.nodes[i]
		held, steps, used, closed := append(into.held[:0], t.held...), append(into.steps[:0], t.steps...), append(into.used[:0], t.used...), append(into.closed[:0], t.closed...)
		*into = *t
		into.held, into.steps, into.used, into.closed = held, steps, used, closed
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
	if n.from > p.now || p.now > n.last(j.limit) {
		return false
	}
	if r := p.room(n); r.total < int64(j.procs) || p.rooms.failed(j) {
		return false
	}
	s := p.begin(j, p.now)
	if s.beside(p.room(n)) {
		return true
	}
	p.rooms.fail(j)
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
	p.sets.forget(now)
	p.releases.forget(now)
}

func (p *nodePlan) earliest(j *job, from, before int64) int64 {
	at, end := max(from, j.Need.from), min(before, j.Need.last(j.limit)+1)
	if at = p.bound(j, at, end, never); at >= end {
		return before
	}
	if end == p.now+1 && at == p.now {
		if p.fits(j, p.now) {
			return p.now
		}
		return before
	}
	s := p.begin(j, at)
	if at = s.search(end); at >= end {
		return before
	}
	p.swept = swept{j.Need, at, j.limit, j.procs, p.rooms.version}
	return at
}

func (p *nodePlan) earlier(j *job, from, before int64) int64 { return sooner(p, j, from, before, nil) }

// sooner is earlier for who knows on which days a job may find a place; nil: on any.
func sooner(p *nodePlan, j *job, from, before int64, on *dates) int64 {
	from = max(from, j.Need.from)
	if from = p.bound(j, from, before, j.planned); from >= before {
		return j.planned // even with what it has
	}
	if p.reserved {
		return lifted(p, j, from, before)
	}
	p.rooms.expire(p) // while all is known
	s := p.begin(j, from)
	s.until, s.own, s.dates = j.planned, j.shares, on
	at := s.search(before)
	if s.bare {
		s.blank(1)
	}
	if at >= before {
		return j.planned
	}
	p.swept = swept{j.Need, at, j.limit, j.procs, p.rooms.version}
	return at
}

// lifted is earlier where nodes are reserved.
func lifted(p *nodePlan, j *job, from, before int64) int64 {
	shares := j.shares
	p.vacate(j, j.planned, j.planned+j.limit)
	at := p.earliest(j, from, before)
	p.hold(j, j.planned, j.planned+j.limit, shares)
	j.shares = shares
	if at < before {
		return at
	}
	return j.planned
}

// swept says of which question the rooms in sweep are the answer.
type swept struct {
	need      *Need
	at, limit int64
	procs     int32
	version   int64
}

// choose picks nodes for j from the time at on, adding them to *into, and tells
// whether there are enough. The nodes with the least room left are taken first,
// so that large gaps stay.
func (p *nodePlan) choose(j *job, at int64, into *[]share) bool {
	if at == p.now && p.room(j.Need).total < int64(j.procs) {
		return false
	}
	if p.swept != (swept{j.Need, at, j.limit, j.procs, p.rooms.version}) {
		s := p.begin(j, at)
		s.look()
		p.swept = swept{}
	}
	list, ok := p.parts(j, &p.sweep)
	*into = append(*into, list...)
	return ok
}

// parts are those of the nodes picked for j, given the room of each, and whether
// they are enough. They are good until others are asked for.
func (p *nodePlan) parts(j *job, free *berths) (list []share, ok bool) {
	left := j.procs
	list = p.pick(j, free)
	kept := list[:0]
	for _, s := range list {
		if s.procs = min(s.procs, left); s.procs > 0 {
			left -= s.procs
			switch {
			case j.Need.Whole:
				s.procs = p.nodes[s.node].have.procs
			case j.Need.Core > 1:
				s.procs += (int32(j.Need.Core) - s.procs%int32(j.Need.Core)) % int32(j.Need.Core)
			}
			kept = append(kept, s)
		}
	}
	return kept, left <= 0
}

func (p *nodePlan) occupy(j *job, from, to int64) {
	var shares []share
	p.choose(j, from, &shares)
	p.hold(j, from, to, shares)
	j.shares = shares
}

func (p *nodePlan) move(j *job, was int64) {
	if p.swept != (swept{j.Need, j.planned, j.limit, j.procs, p.rooms.version}) {
		p.vacate(j, was, was+j.limit)
		p.occupy(j, j.planned, j.planned+j.limit)
		return
	}
	var shares []share // of the rooms beside its own place that earlier has found
	p.choose(j, j.planned, &shares)
	p.vacate(j, was, was+j.limit)
	p.hold(j, j.planned, j.planned+j.limit, shares)
	j.shares = shares
}

// hold takes given parts of nodes for a job.
func (p *nodePlan) hold(j *job, from, to int64, shares []share) {
	if p.heaviest = max(p.heaviest, j.Need.Memory); j.Need.Keeps > 0 {
		p.heaviest = math.MaxInt64
	}
	p.releases.add(to, j.seq, shares)
	if j.blocks && !p.reserved {
		for _, s := range shares {
			shutOff(p, s.node, closure{from, to, j.seq})
		}
		return
	}
	total := int32(0)
	for _, s := range shares {
		part := j.Need.part(s.procs)
		if j.blocks {
			part.procs = p.nodes[s.node].have.procs
		}
		p.put(s.node, holding{from, to, j.seq, 0, s.procs, part}, j.Need.access)
		total += s.procs
	}
	p.sum.change(from, to, -total)
	p.sets.count(from, to, shares, -1)
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
		p.take(s.node, holding{from, to, -int64(reservation), reservation, 0, amounts{procs: s.procs}})
	}
	p.releases.add(to, -int64(reservation), shares)
}

// part is what so many processors of a job hold on a node.
func (n *Need) part(procs int32) amounts {
	return amounts{n.Memory*int64(procs) + n.Keeps, n.Disk, procs, int32(n.GPUs)}
}

func (p *nodePlan) take(node int32, h holding) {
	t := &p.nodes[node]
	t.held = append(t.held, h)
	t.add(p.now, &h)
	when := h.to
	if h.from > p.now {
		when = h.from
		p.later.add(node, len(p.nodes))
	}
	p.touches.note(node)
	p.rooms.change(node, when)
	for _, c := range p.calendars {
		if h.within > 0 {
			c.wipe(node)
		}
		c.set(node, t, h.from, h.to)
	}
}

// vacate ends what j holds at from; what j held before is past.
func (p *nodePlan) vacate(j *job, from, to int64) {
	total := int32(0)
	for _, s := range j.shares {
		t := &p.nodes[s.node]
		was, until := t.closed.drop(j.seq)
		if was < never {
			p.calendars.reopen(s.node, was, until, t.closed)
		} else {
			total += s.procs
			was, until = t.drop(p.now, j.seq)
			for _, c := range p.calendars {
				c.clear(s.node, t, max(was, p.now), until)
			}
		}
		if was <= p.now {
			was = until
		}
		p.touches.note(s.node)
		p.rooms.change(s.node, was) // what follows without a gap is a change now
	}
	if p.releases.remove(to, j.seq); total > 0 {
		p.sum.change(from, to, total)
		p.sets.count(from, to, j.shares, 1)
	}
}
