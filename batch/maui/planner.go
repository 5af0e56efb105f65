package maui

import (
	"cmp"
	"slices"
)

// planner knows what is held of the nodes when, and finds times and nodes with
// room for jobs.
type planner struct {
	*cluster
	sums  []moment  // free processors of all nodes over time; made when asked for
	found []opened  // memory for idleNodes
	steps stretches // memory for joined
}

// place puts a running job on its nodes until its limit; one past its limit is
// planned to end in the next second.
func (r *planner) place(j *job, tasks []placed) {
	j.placed = tasks
	if j.ours || r.Config.MachineSpeed {
		j.limit = planned(j.Limit, tasks)
	}
	end := max(j.Started+j.limit, r.now+1)
	for _, t := range tasks {
		part := r.part(j, t)
		t.node.hold(held{from: j.Started, to: end, amount: part, job: j})
		t.node.used.add(part, 1)
		if j.Started == r.now { // the load of others is in what the node reports
			t.node.load += float64(t.tasks * j.each.procs)
		}
		t.node.running = append(t.node.running, j)
		r.taken(j.Started, end, part.procs)
	}
}

// planned is a limit at the speed of the slowest node.
func planned(limit int64, tasks []placed) int64 {
	slowest := 0.0
	for _, t := range tasks {
		if s := t.node.speed(); slowest == 0 || s < slowest {
			slowest = s
		}
	}
	if slowest > 0 && slowest != 1 {
		return int64(float64(limit) / slowest)
	}
	return limit
}

// part is what so many tasks of a job take of a node.
func (r *planner) part(j *job, t placed) quantity {
	part := j.each.times(t.tasks)
	if j.only {
		part.procs, part.mem, part.disk, part.swap = t.node.have.procs, t.node.have.mem, t.node.have.disk, t.node.have.swap
	}
	return part
}

func (n *node) hold(h held) {
	n.holds = append(n.holds, h)
	n.events = nil
}

// unhold takes away what a job holds of a node.
func (n *node) unhold(j *job) {
	n.holds = slices.DeleteFunc(n.holds, func(h held) bool { return h.job == j })
	n.events = nil
}

// moment is a time at which something changes, and how many processors are free
// from then on.
type moment struct {
	at, free int64
	changes  int // begins and ends of what is held
}

// windowJob asks for one processor for a second: how long the nodes have room
// for it makes the backfill windows.
var windowJob = job{
	Job: &Job{Tasks: 1, Limit: 1}, memory: &memory{}, each: quantity{procs: 1}, procs: 1, qos: &noCredential, qosName: "DEFAULT",
}

// window is the nodes that are free now for longer than the last window's
// span: with their tasks, the processors in all, and the least span of them.
func (r *planner) window(p *part, last int64) (nodes []placed, procs, span int64) {
	span = never
	for _, n := range p.nodes {
		if !n.usable() || n.used.procs >= n.have.procs {
			continue
		}
		count, length := r.opening(&windowJob, n, r.now)
		if count <= 0 || length <= last {
			continue
		}
		nodes = append(nodes, placed{n, count})
		procs += count
		span = min(span, length)
	}
	return nodes, procs, span
}

// scaled is a span at the speed of the fastest node.
func (r *planner) scaled(nodes []placed, span int64) int64 {
	fastest := 0.0
	for _, t := range nodes {
		fastest = max(fastest, t.node.speed())
	}
	if fastest == 1 || span >= never/4 {
		return span
	}
	return int64(float64(span) * fastest)
}

// earliest finds the first time before another at which a partition has room
// for a job's whole limit, and the nodes that do.
func (r *planner) earliest(j *job, p *part, before int64) (int64, []placed) {
	var nodes []*node
	for _, n := range p.nodes {
		if r.feasible(j, n) {
			nodes = append(nodes, n)
		}
	}
	first := max(r.now, j.earliest, j.Begin)
	f := r.finder(j, nodes)
	for _, m := range r.moments(first) {
		if m.at >= before {
			break
		}
		if m.free < j.procs || !f.move(m.at) {
			continue
		}
		if list, ok := r.at(j, nodes, m.at); ok {
			return m.at, list
		}
	}
	return never, nil
}

// at lists the nodes with room for a job at a time, and whether there are
// enough.
func (r *planner) at(j *job, nodes []*node, at int64) (list []placed, ok bool) {
	tasks := int64(0)
	for _, n := range nodes {
		if at == r.now && !n.usable() {
			continue
		}
		count, _ := r.opening(j, n, at)
		if count <= 0 {
			continue
		}
		list = append(list, placed{n, count})
		tasks += count
	}
	hosts := len(j.Hosts) == 0 || len(list) == len(nodes)
	return list, tasks >= j.Tasks && int64(len(list)) >= j.Nodes && hosts && len(list) > 0
}

// moments lists the times from one on at which something changes, with the
// processors that are free then; that time is the first of them.
func (r *planner) moments(from int64) []moment {
	if r.sums == nil {
		r.sum()
	}
	i, found := r.find(from)
	if found {
		return r.sums[i:]
	}
	return append([]moment{{from, r.before(i), 0}}, r.sums[i:]...)
}

// sum adds up what is held of all nodes.
func (r *planner) sum() {
	var events []moment
	for _, n := range r.nodes {
		events = append(events, moment{0, n.have.procs, 1})
		for _, h := range n.holds {
			if h.job != nil {
				events = append(events, moment{h.from, -h.amount.procs, 1}, moment{h.to, h.amount.procs, 1})
			}
		}
	}
	slices.SortFunc(events, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	free, changes := int64(0), 0
	for i, e := range events {
		free, changes = free+e.free, changes+1
		if i+1 == len(events) || events[i+1].at != e.at {
			r.sums, changes = append(r.sums, moment{e.at, free, changes}), 0
		}
	}
}

// find is the place of a time in the sums, or where it would be.
func (r *planner) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(r.sums, at, func(m moment, t int64) int { return cmp.Compare(m.at, t) })
}

// before is what is free before a place in the sums.
func (r *planner) before(i int) int64 {
	if i == 0 {
		return 0
	}
	return r.sums[i-1].free
}

// taken keeps the sums right when processors are taken for a time.
func (r *planner) taken(from, to, procs int64) {
	if r.sums == nil {
		return
	}
	for _, at := range [...]int64{from, to} {
		i, found := r.find(at)
		if !found {
			r.sums = slices.Insert(r.sums, i, moment{at, r.before(i), 0})
		}
		r.sums[i].changes++
	}
	r.shift(from, to, -procs)
}

// given keeps the sums right when what was taken is given back.
func (r *planner) given(from, to, procs int64) {
	if r.sums == nil {
		return
	}
	r.shift(from, to, procs)
	for _, at := range [...]int64{from, to} {
		i, _ := r.find(at)
		if r.sums[i].changes--; r.sums[i].changes == 0 {
			r.sums = slices.Delete(r.sums, i, i+1)
		}
	}
}

// shift changes what is free from one time to another.
func (r *planner) shift(from, to, by int64) {
	i, _ := r.find(from)
	for ; i < len(r.sums) && r.sums[i].at < to; i++ {
		r.sums[i].free += by
	}
}
