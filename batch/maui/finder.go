package maui

import "container/heap"

// finder follows how many tasks of a job the nodes have room for as time goes
// by. A node is looked at again only where that can have changed.
type finder struct {
	r     *planner
	j     *job
	open  []outlook // a heap, the first to change on top
	tasks int64
	nodes int64
	all   int
}

// outlook is what a node has room for until a time, that included.
type outlook struct {
	n     *node
	tasks int64
	until int64
}

func (f *finder) Len() int           { return len(f.open) }
func (f *finder) Less(i, k int) bool { return f.open[i].until < f.open[k].until }
func (f *finder) Swap(i, k int)      { f.open[i], f.open[k] = f.open[k], f.open[i] }
func (f *finder) Push(any)           {}
func (f *finder) Pop() any           { return nil }

// finder makes one that has looked at nothing yet.
func (r *planner) finder(j *job, nodes []*node) *finder {
	f := &finder{r: r, j: j, all: len(nodes), open: make([]outlook, len(nodes))}
	for i, n := range nodes {
		f.open[i] = outlook{n: n, until: -1}
	}
	return f
}

// move goes on to a time and tells whether the nodes are enough then.
func (f *finder) move(at int64) bool {
	for len(f.open) > 0 && f.open[0].until < at {
		o := &f.open[0]
		f.count(o, -1)
		if o.tasks, o.until = 0, at; at > f.r.now || o.n.usable() {
			o.tasks, _ = f.r.opening(f.j, o.n, at)
			o.until = o.n.same(at, o.tasks, max(1, f.j.Limit))
		}
		f.count(o, 1)
		heap.Fix(f, 0)
	}
	hosts := len(f.j.Hosts) == 0 || f.nodes == int64(f.all)
	return f.tasks >= f.j.Tasks && f.nodes >= f.j.Nodes && hosts && f.nodes > 0
}

func (f *finder) count(o *outlook, sign int64) {
	if o.tasks > 0 {
		f.tasks, f.nodes = f.tasks+sign*o.tasks, f.nodes+sign
	}
}

// same is until when what a node has room for at a time stays the same: where
// there is no room, until something changes; where there is, also while the
// job would be over before that, or where from then on the node only empties.
func (n *node) same(at, tasks, limit int64) int64 {
	next, begins := int64(never), false
	for _, e := range n.timeline() {
		if e.at > at {
			next, begins = min(next, e.at), begins || e.begin
		}
	}
	if next == never {
		return never
	}
	if tasks == 0 || !begins {
		return next - 1
	}
	return max(at, next-limit)
}
