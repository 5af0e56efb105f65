package maui

import (
	"cmp"
	"slices"
	"strings"
)

// What job.serving knows of a node.
const (
	unasked = iota
	serves
	servesNot
)

// feasible tells whether a node could ever serve a job.
func (r *planner) feasible(j *job, n *node) bool {
	if j.serving == nil {
		j.serving = r.likes(j)
	}
	if j.serving[n.at] == unasked {
		j.serving[n.at] = servesNot
		if r.suits(j, n) {
			j.serving[n.at] = serves
		}
	}
	return j.serving[n.at] == serves
}

// wish is what decides which nodes could ever serve a job.
type wish struct {
	each                             quantity
	class, os, arch, features, hosts string
	memory, disk, swap               Demand
	perNode                          int64
	only                             bool
}

// manyWishes bounds the wishes that are remembered: each knows every node.
const manyWishes = 64

// likes is what is known of the nodes for jobs that wish the same.
func (r *cluster) likes(j *job) []byte {
	w := wish{
		j.each, j.Class, j.OS, j.Arch, strings.Join(j.Features, "\x00"), strings.Join(j.Hosts, "\x00"), j.NodeMemory, j.NodeDisk, j.NodeSwap, j.TasksPerNode, j.only,
	}
	known := r.wishes[w]
	if known == nil {
		if len(r.wishes) >= manyWishes || r.wishes == nil {
			r.wishes = map[wish][]byte{}
		}
		known = make([]byte, len(r.nodes))
		r.wishes[w] = known
	}
	return known
}

// suits is feasible, looked at anew.
func (r *planner) suits(j *job, n *node) bool {
	if !n.up() || len(j.Hosts) > 0 && !slices.Contains(j.hosts, n) {
		return false
	}
	if j.OS != "" && j.OS != n.OS || j.Arch != "" && j.Arch != n.Arch {
		return false
	}
	if !j.NodeMemory.Met(n.Memory) || !j.NodeDisk.Met(n.Disk) || !j.NodeSwap.Met(n.Swap) {
		return false
	}
	if slices.ContainsFunc(j.Features, func(f string) bool {
		return !slices.Contains(n.Features, f) && !slices.Contains(n.config.Features, f)
	}) {
		return false
	}
	fits := r.room(j, n, never)
	return fits > 0 && fits >= j.TasksPerNode
}

// opened is a node with room now, and for how long.
type opened struct {
	placed
	span int64
}

// idleNodes lists the nodes with room now for a job, and their tasks in total.
func (r *planner) idleNodes(j *job, p *part, among []placed) (list []placed, tasks int64, enough bool) {
	found := r.found[:0]
	free, nodes := int64(0), int64(0)
	look := func(n *node) {
		if !n.usable() || n.used.procs >= n.have.procs || !r.feasible(j, n) || j.only && len(n.running) > 0 {
			return
		}
		free += n.have.procs - n.used.procs
		count, span := r.opening(j, n, r.now)
		count = min(count, n.have.procs-n.used.procs)
		if count <= 0 {
			return
		}
		found = append(found, opened{placed{n, count}, span})
		tasks += count
		nodes++
	}
	if among != nil {
		for _, t := range among {
			look(t.node)
		}
	} else {
		for _, n := range p.nodes {
			look(n)
		}
	}
	if r.Config.Allocation == "LASTAVAILABLE" {
		slices.SortStableFunc(found, func(a, b opened) int { return cmp.Compare(a.span, b.span) })
	}
	r.found = found
	if len(found) > 0 {
		list = make([]placed, len(found))
	}
	for i, f := range found {
		list[i] = f.placed
	}
	return list, tasks, free >= j.Tasks && tasks >= j.Tasks && nodes >= j.Nodes
}

// allocate picks nodes of a list for a job by NODEALLOCATIONPOLICY, those kept
// for the likes of it first.
func (r *planner) allocate(j *job, list []placed, at int64) ([]placed, bool) {
	if len(j.Hosts) > 0 {
		return r.hostlist(j, list)
	}
	a := allocation{r: r, j: j, per: max(1, j.TasksPerNode)}
	policy := r.Config.Allocation
	if at > r.now && policy == "CPULOAD" {
		policy = "MINRESOURCE"
	}
	kept, free := []placed(nil), list
	if len(r.Config.Standing) > 0 {
		kept, free = partition(list, func(t placed) bool { return r.favoured(j, t.node) })
	}
	for _, part := range [][]placed{kept, free} {
		if len(part) > 0 && !a.done() {
			a.pick(policy, part)
		}
	}
	return a.got, a.done()
}

// partition parts a list in two, keeping the order.
func partition(list []placed, first func(placed) bool) (a, b []placed) {
	for _, t := range list {
		if first(t) {
			a = append(a, t)
		} else {
			b = append(b, t)
		}
	}
	return a, b
}

// allocation is an allocation being made.
type allocation struct {
	r     *planner
	j     *job
	per   int64
	got   []placed
	tasks int64
}

func (a *allocation) done() bool { return a.tasks >= a.j.Tasks && int64(len(a.got)) >= a.j.Nodes }

// take takes tasks of a node; true: that is enough.
func (a *allocation) take(t placed) bool {
	if t.tasks < a.per {
		return false
	}
	t.tasks = min(t.tasks, a.j.Tasks)
	a.got = append(a.got, t)
	a.tasks += t.tasks
	return a.done()
}

// all takes from the nodes of a list in its order until there is enough.
func (a *allocation) all(list []placed) bool {
	return slices.ContainsFunc(list, a.take)
}

func (a *allocation) pick(policy string, list []placed) {
	var last []placed // the list from its end
	if policy == "MINRESOURCE" || policy == "CPULOAD" {
		last = slices.Clone(list)
		slices.Reverse(last)
	}
	switch policy {
	case "FIRSTAVAILABLE":
		a.all(list)
	case "MINRESOURCE":
		a.least(last)
	case "CPULOAD":
		a.idlest(last)
	case "FASTEST":
		slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(b.node.speed(), a.node.speed()) })
		a.all(list)
	case "PRIORITY", "MACHINEPRIO":
		slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(b.node.config.Priority, a.node.config.Priority) })
		a.all(list)
	case "MAXBALANCE":
		a.all(list)
	default:
		for _, t := range slices.Backward(list) {
			if a.take(t) {
				return
			}
		}
	}
}

// least takes the nodes with the least memory, by powers of two from 64 MB.
func (a *allocation) least(list []placed) {
	const most = 8192
	for mem := int64(64); mem <= most; mem *= 2 {
		rest := list[:0:0]
		for _, t := range list {
			if t.node.Memory > mem && mem < most || t.tasks < a.per {
				rest = append(rest, t)
				continue
			}
			t.tasks -= t.tasks % a.per
			if a.take(t) {
				return
			}
		}
		list = rest
	}
}

// idlest takes the nodes with the most processors that are neither dedicated
// nor loaded; where those (within a tenth of one processor) do not suffice,
// none is taken.
func (a *allocation) idlest(list []placed) {
	avail := func(n *node) float64 { return float64(n.have.procs) - max(float64(n.used.procs), n.load) }
	best := 0.0
	for _, t := range list {
		best = max(best, avail(t.node))
	}
	if best <= 0 {
		return
	}
	for _, t := range list {
		if avail(t.node) >= best-0.1 && a.take(t) {
			return
		}
	}
}

// hostlist allocates the hosts that a job names, in its order.
func (r *planner) hostlist(j *job, list []placed) (got []placed, ok bool) {
	left := j.Tasks
	for i, n := range j.hosts {
		if slices.Contains(j.hosts[:i], n) || !slices.ContainsFunc(list, func(t placed) bool { return t.node == n }) {
			continue
		}
		named := int64(0)
		for _, other := range j.hosts {
			named += int64(b2i(other == n))
		}
		tasks := min(named, left)
		if j.TasksPerNode > 0 {
			tasks -= tasks % j.TasksPerNode
		}
		if tasks > 0 {
			got, left = append(got, placed{n, tasks}), left-tasks
		}
	}
	return got, left == 0
}

// distribute fixes how many of a job's tasks each allocated node gets: node
// by node as many as it has room for, evenly where the job asks for a number
// of nodes and every one has room for its part.
func distribute(j *job, list []placed) (out []placed, ok bool) {
	each, over, even := int64(0), int64(0), false
	if j.Nodes > 0 {
		each, over = j.Tasks/j.Nodes, j.Tasks%j.Nodes
		even = balanced(j, list, each, over)
	}
	left := j.Tasks
	for i, t := range list {
		switch {
		case j.Nodes > 0 && even:
			most := each
			if t.tasks > each && over > 0 {
				extra := min(t.tasks-each, over)
				most, over = most+extra, over-extra
			}
			t.tasks = min(t.tasks, most)
		case j.Nodes > 0:
			t.tasks = min(t.tasks, 1+left-(j.Nodes-int64(i)))
		}
		if per := j.TasksPerNode; per > 0 {
			t.tasks -= t.tasks % per
		}
		if t.tasks = min(t.tasks, left); t.tasks <= 0 {
			break
		}
		out, left = append(out, t), left-t.tasks
	}
	return out, len(out) > 0 && left == 0
}

// balanced tells whether the tasks can be spread evenly.
func balanced(j *job, list []placed, each, over int64) bool {
	nodes, tasks := j.Nodes, j.Tasks
	for _, t := range list {
		if t.tasks >= each {
			nodes, tasks, over = nodes-1, tasks-each, over-(t.tasks-each)
		}
	}
	return nodes <= 0 && tasks <= 0 && over <= 0
}
