package batch

import "slices"

// nodeSet is the nodes that serve some jobs, as one class: the processors free
// of all of them together are what no placement there can exceed.
type nodeSet struct {
	serve []uint64
	free  *profile
}

// nodeSets are the sets of nodes that are counted by themselves.
type nodeSets []nodeSet

// mostSets bounds the sets of nodes that are counted by themselves.
const mostSets = 8

// classify finds the set of a need's nodes. What is held there already is
// taken in.
func (list *nodeSets) classify(p *nodePlan, n *Need) {
	if len(n.on) == len(p.nodes) {
		return
	}
	if i := slices.IndexFunc(*list, func(s nodeSet) bool { return slices.Equal(s.serve, n.serve) }); i >= 0 || len(*list) == mostSets {
		n.set = i + 1
		return
	}
	total := 0
	for _, node := range n.on {
		total += int(p.nodes[node].have.procs)
	}
	s := nodeSet{n.serve, newProfile(p.now, total)}
	for _, node := range n.on {
		for i := range p.nodes[node].held {
			if h := &p.nodes[node].held[i]; h.owner >= 0 {
				s.free.change(h.from, h.to, -h.own)
			}
		}
	}
	*list = append(*list, s)
	n.set = len(*list)
}

// clone copies the sets, into the memory of an older copy.
func (list nodeSets) clone(old nodeSets) nodeSets {
	c := make(nodeSets, len(list))
	for i, s := range list {
		var memory *profile
		if i < len(old) {
			memory = old[i].free
		}
		c[i] = nodeSet{s.serve, s.free.clone(memory)}
	}
	return c
}

// count takes what a job holds from the sets, or gives it back.
func (list nodeSets) count(from, to int64, shares []share, sign int32) {
	for i := range list {
		s, total := &list[i], int32(0)
		for _, part := range shares {
			if s.serve[part.node>>6]>>(part.node&63)&1 != 0 {
				total += part.procs
			}
		}
		s.free.change(from, to, sign*total)
	}
}

// forget drops what is known of times before now.
func (list nodeSets) forget(now int64) {
	for i := range list {
		list[i].free.forget(now)
	}
}

// idle are the processors free now of all nodes, and of each set.
func (p *nodePlan) idle(list []int32) []int32 {
	list = append(list, p.sum.at(p.now))
	for i := range p.sets {
		list = append(list, p.sets[i].free.at(p.now))
	}
	return list
}

// bound is a time before which a job cannot start: the first at which the nodes
// that serve it have enough processors free for all of its time but what is after until.
func (p *nodePlan) bound(j *job, from, end, until int64) int64 {
	return p.sets.free(j.Need, p.sum).earliest(from, end, until, j.limit, j.procs)
}

// free are the processors free of the nodes that serve a need, or of all.
func (list nodeSets) free(n *Need, all *profile) *profile {
	if n.set > 0 {
		return list[n.set-1].free
	}
	return all
}

// meeting are the sets that have a node in common with one: a bit each. Set 0, of all
// nodes and of those that are in none of their own, does with all.
func (list nodeSets) meeting(set int) (others uint16) {
	for other := range mostSets + 1 {
		if max(set, other) > len(list) || min(set, other) == 0 || common(list[set-1].serve, list[other-1].serve) {
			others |= 1 << other
		}
	}
	return others
}

// common tells whether two sets have a node in common.
func common(a, b []uint64) bool {
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}
