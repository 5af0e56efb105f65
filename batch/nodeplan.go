package batch

import (
	"cmp"
	"math"
	"slices"
)

// nodePlan is the plan of a machine of unlike nodes: every job is placed on
// nodes by processors, memory, disk, GPUs and features.
type nodePlan struct {
	now    int64
	sum    *profile // processors of all nodes together: what no placement can exceed
	sets   []nodeSet
	nodes  []timeline
	widest int32 // the most processors of a node
	// releases are the times at which something comes free; the job of an entry
	// is the place in parts of what does.
	releases waiting
	parts    [][]share
	spares   []int32 // places there that are not in use
	sweep    []int32 // memory for the method of this name, with what swept says
	swept    swept
	sizes    []int32   // memory for bySize and wide
	runs     []nodeRun // memory for compact
	ws       windows   // memory for wide
	rooms    rooms
	later    later
	reserved bool // there are reservations
	shut     []bool
	calendar *calendar // where many places are made one after the other
}

// Need is what a job asks of nodes beyond processors.
type Need struct {
	Nodes int // number of nodes, processors spread evenly (under slurm: in any way); 0: any
	// MaxNodes is how many nodes it may have at most, where Nodes is 0 and under
	// slurm alone; 0: any number.
	MaxNodes int
	Memory   int64    // MB per processor
	Disk     int64    // MB per node
	GPUs     int      // per node
	Whole    bool     // shares its nodes with nobody
	id       int      // its place among the needs of the cluster, from 1
	kind     int      // the same of those that differ in Nodes alone
	set      int      // its place in the sets of the plan, from 1; 0: all nodes
	on       []int32  // the nodes that could serve it, in order
	serve    []uint64 // the same, a bit for each node
	access   int32    // the reservation it may use, from 1; 0: none
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
		p.nodes[i].bound()
		p.widest = max(p.widest, n.procs)
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
	c.cloneSets(p)
	c.calendar = nil
	c.releases, c.swept = p.releases.clone(c.releases), swept{}
	c.parts, c.spares = append(c.parts[:0], p.parts...), append(c.spares[:0], p.spares...)
	c.later = later{append(c.later.nodes[:0], p.later.nodes...), append(c.later.in[:0], p.later.in...)}
	for i := range p.nodes {
		into, t := &c.nodes[i], &p.nodes[i]
		held, steps, used := append(into.held[:0], t.held...), append(into.steps[:0], t.steps...), append(into.used[:0], t.used...)
		*into = *t
		into.held, into.steps, into.used = held, steps, used
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
	for i := range p.sets {
		p.sets[i].free.forget(now)
	}
	for e, ok := p.releases.head(); ok && e.key < float64(now); e, ok = p.releases.head() {
		p.pass(place{})
	}
}

func (p *nodePlan) earliest(j *job, from, before int64) int64 {
	at, end := max(from, j.Need.from), before
	if j.Need.to > 0 {
		end = min(before, j.Need.to-j.limit+1)
	}
	if at = p.bound(j, at, end); at >= end {
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
	left := j.procs
	for _, s := range p.pick(j, p.sweep) {
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

// pick lists nodes for j, given the room of each, in the order in which they
// are taken.
func (p *nodePlan) pick(j *job, free []int32) (found []share) {
	if j.compact {
		return p.compact(j, free)
	}
	if j.Need.Nodes > 0 {
		each, left := j.each(), j.procs
		for _, n := range j.Need.on {
			if free[n] >= each && left > 0 {
				found = append(found, share{n, each})
				left -= each
			}
		}
		return found
	}
	return p.bySize(j.Need, free, j.procs)
}

// each is the processors that a job which asks for a number of nodes wants on
// every one.
func (j *job) each() int32 {
	n := int32(j.Need.Nodes)
	return (j.procs + n - 1) / n
}

// bySize lists nodes by their room, least first, as many as have so many
// processors.
func (p *nodePlan) bySize(need *Need, free []int32, procs int32) []share {
	p.sizes = append(p.sizes[:0], make([]int32, p.widest+2)...)
	for _, n := range need.on {
		p.sizes[free[n]]++
	}
	most, at, left := int32(0), int32(0), procs
	for size := int32(1); size <= p.widest; size++ { // numbers of nodes become places in the list
		count := p.sizes[size]
		p.sizes[size] = at
		if left > 0 {
			at += count
			most = size
		}
		left -= min(left, count*size)
	}
	found := make([]share, at)
	for _, n := range need.on {
		if size := free[n]; size > 0 && size <= most {
			found[p.sizes[size]] = share{n, size}
			p.sizes[size]++
		}
	}
	return found
}

// widest takes so many of the nodes with the most room, and of each at least one
// processor.
func widest(found []share, nodes int, procs int32) []share {
	slices.SortStableFunc(found, func(a, b share) int { return cmp.Compare(b.procs, a.procs) })
	found = found[:min(nodes, len(found))]
	for i := range found {
		found[i].procs = min(found[i].procs, procs-int32(len(found)-1-i))
		procs -= found[i].procs
	}
	return found
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
		p.put(s.node, holding{from, to, j.seq, 0, s.procs, part}, j.Need.access)
		total += s.procs
	}
	p.release(to, j.seq, shares)
	p.sum.change(from, to, -total)
	p.count(from, to, shares, -1)
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
	p.release(to, -int64(reservation), shares)
}

// part is what so many processors of a job hold on a node.
func (n *Need) part(procs int32) amounts {
	return amounts{procs, n.Memory * int64(procs), n.Disk, int32(n.GPUs)}
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
	p.rooms.change(node, when)
	if p.calendar == nil {
		return
	}
	if h.within > 0 {
		p.calendar.wipe(node)
	}
	p.calendar.set(node, t, h.from, h.to)
}

// release notes that what an owner has on nodes comes free.
func (p *nodePlan) release(at, owner int64, shares []share) {
	if at >= never {
		return
	}
	i := int32(len(p.parts))
	if n := len(p.spares); n > 0 {
		i, p.spares = p.spares[n-1], p.spares[:n-1]
		p.parts[i] = shares
	} else {
		p.parts = append(p.parts, shares)
	}
	p.releases.insert(entry{key: float64(at), seq: owner, job: i})
}

// unrelease takes that back.
func (p *nodePlan) unrelease(at, owner int64) {
	if here, ok := p.releases.find(entry{key: float64(at), seq: owner}); ok {
		p.pass(here)
	}
}

// pass takes a release out.
func (p *nodePlan) pass(here place) {
	i := p.releases.blocks[here.b].jobs[here.i].job
	p.parts[i] = nil
	p.spares = append(p.spares, i)
	p.releases.removeAt(here)
}

// vacate ends what j holds at from; what j held before is past.
func (p *nodePlan) vacate(j *job, from, to int64) {
	total := int32(0)
	for _, s := range j.shares {
		was, until := p.nodes[s.node].drop(p.now, j.seq)
		if p.calendar != nil {
			p.calendar.clear(s.node, &p.nodes[s.node], max(was, p.now), until)
		}
		if was <= p.now {
			was = until
		}
		p.rooms.change(s.node, was) // what follows without a gap is a change now
		total += s.procs
	}
	p.unrelease(to, j.seq)
	p.sum.change(from, to, total)
	p.count(from, to, j.shares, 1)
}
