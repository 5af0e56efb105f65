package batch

import (
	"cmp"
	"math"
	"slices"
)

// nodePlan is the plan of a machine of unlike nodes: every job is placed on
// nodes by processors, memory, disk, GPUs and features.
type nodePlan struct {
	sum   *profile // processors of all nodes together: what no placement can exceed
	nodes []timeline
	// releases are the times at which something comes free, sorted; some
	// may be out of date.
	releases []int64
}

// timeline is what is held on one node and when.
type timeline struct {
	have  amounts
	held  []holding
	sum   amounts // of all that is held
	begin int64   // the latest begin of what is held
	end   int64   // the earliest end
}

// count works out sum, begin and end.
func (t *timeline) count() {
	t.sum, t.begin, t.end = amounts{}, -never, never
	for i := range t.held {
		t.add(&t.held[i])
	}
}

func (t *timeline) add(h *holding) {
	t.sum.procs += h.procs
	t.sum.memory += h.memory
	t.sum.disk += h.disk
	t.sum.gpus += h.gpus
	t.begin, t.end = max(t.begin, h.from), min(t.end, h.to)
}

// amounts of one node's resources: processors, memory MB, disk MB, GPUs.
type amounts struct {
	procs        int32
	memory, disk int64
	gpus         int32
}

// holding is a job's or a reservation's part of a node for a time.
type holding struct {
	from, to int64
	owner    int64 // the job's seq; negative: a reservation
	amounts
}

// Need is what a job asks of nodes beyond processors.
type Need struct {
	Nodes  int   // number of nodes, processors spread evenly; 0: any
	Memory int64 // MB per processor
	Disk   int64 // MB per node
	GPUs   int   // per node
	on     []int32
}

// share is the part of a job on one node.
type share struct {
	node  int32
	procs int32
}

func newNodePlan(from int64, nodes []amounts) *nodePlan {
	total := 0
	p := &nodePlan{nodes: make([]timeline, len(nodes))}
	for i, n := range nodes {
		p.nodes[i].have = n
		p.nodes[i].count()
		total += int(n.procs)
	}
	p.sum = newProfile(from, total)
	return p
}

func (p *nodePlan) clone() plan {
	c := &nodePlan{sum: p.sum.clone(), nodes: slices.Clone(p.nodes), releases: slices.Clone(p.releases)}
	for i := range c.nodes {
		c.nodes[i].held = slices.Clone(c.nodes[i].held)
	}
	return c
}

func (p *nodePlan) windows(now int64, ws windows) (windows, bool) {
	list, _ := pool{p.sum}.windows(now, ws)
	return list, false
}

// bounds: on nodes a job may find no room with any number of processors free.
func (p *nodePlan) bounds(from, to int64) (least, most int32) {
	_, most = p.sum.bounds(from, to)
	return math.MinInt32 / 2, most
}

func (p *nodePlan) forget(now int64) {
	p.sum.forget(now)
	i, _ := slices.BinarySearch(p.releases, now)
	if i > 64 {
		p.releases = slices.Delete(p.releases, 0, i)
	}
}

func (p *nodePlan) earliest(j *job, from, before int64) int64 {
	for at := from; at < before; {
		at = p.sum.earliest(at, before, never, j.limit, j.procs)
		if at >= before {
			return before
		}
		if p.choose(j, at, nil) {
			return at
		}
		i, _ := slices.BinarySearch(p.releases, at+1)
		if i == len(p.releases) {
			return before
		}
		at = p.releases[i]
	}
	return before
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
	var found []share
	left := j.procs
	for _, n := range j.Need.on {
		room := p.nodes[n].room(at, at+j.limit, j.Need)
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
	}
	for _, s := range found {
		if s.procs = min(s.procs, left); s.procs > 0 {
			*into = append(*into, s)
			left -= s.procs
		}
	}
	return left <= 0
}

// room is how many processors of a job the node can take in [from, to).
func (t *timeline) room(from, to int64, n *Need) int32 {
	used := t.peak(from, to)
	room := t.have.procs - used.procs
	if n.Memory > 0 {
		room = int32(min(int64(room), max(0, t.have.memory-used.memory)/n.Memory))
	}
	if n.Disk > t.have.disk-used.disk || int32(n.GPUs) > t.have.gpus-used.gpus {
		return 0
	}
	return max(room, 0)
}

// peak is the most that is held at any moment of [from, to), for each
// resource by itself. Holdings change only when one begins.
func (t *timeline) peak(from, to int64) amounts {
	if t.begin <= from && from < t.end { // all of it is held now
		return t.sum
	}
	top := t.at(from)
	for i := range t.held {
		if h := &t.held[i]; h.from > from && h.from < to {
			top = top.max(t.at(h.from))
		}
	}
	return top
}

// at is what is held at one moment.
func (t *timeline) at(when int64) (sum amounts) {
	for i := range t.held {
		if h := &t.held[i]; h.from <= when && when < h.to {
			sum.procs += h.procs
			sum.memory += h.memory
			sum.disk += h.disk
			sum.gpus += h.gpus
		}
	}
	return sum
}

func (a amounts) max(b amounts) amounts {
	return amounts{max(a.procs, b.procs), max(a.memory, b.memory), max(a.disk, b.disk), max(a.gpus, b.gpus)}
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
		p.take(s.node, holding{from, to, j.seq, j.Need.part(s.procs)})
		total += s.procs
	}
	p.release(to)
	p.sum.change(from, to, -total)
}

// part is what so many processors of a job hold on a node.
func (n *Need) part(procs int32) amounts {
	return amounts{procs, n.Memory * int64(procs), n.Disk, int32(n.GPUs)}
}

func (p *nodePlan) take(node int32, h holding) {
	t := &p.nodes[node]
	t.held = append(t.held, h)
	t.add(&h)
}

func (p *nodePlan) release(at int64) {
	if i, ok := slices.BinarySearch(p.releases, at); !ok && at < math.MaxInt64 {
		p.releases = slices.Insert(p.releases, i, at)
	}
}

// vacate ends what j holds at from; what j held before is past.
func (p *nodePlan) vacate(j *job, from, to int64) {
	total := int32(0)
	for _, s := range j.shares {
		t := &p.nodes[s.node]
		t.held = slices.DeleteFunc(t.held, func(h holding) bool { return h.owner == j.seq })
		t.count()
		total += s.procs
	}
	p.sum.change(from, to, total)
	p.release(from)
}
