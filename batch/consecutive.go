package batch

import (
	"cmp"
	"math"
	"slices"
)

// nearby is the choice of nodes for a compact job, as Slurm makes it: of the runs of
// neighbouring nodes of one weight that have room, those of the least weight, and of
// these the one that is the least to hold all of it,
// else the one with the most; in that the single node that is the least to hold
// all, else the nodes in their order, as much of each as it has; then the next run.
// Where so many nodes as it may have do not do, the nodes with the least room are
// left out, and it is tried again.
//
// A charted pass also does as Slurm with nodes that have so little that the job would need
// more than it may have, were the others all of the widest: they count in a run, and the last
// node that the job may have must hold all that is left. Elsewhere they are left out at once,
// so that what changes on them changes no place.
type nearby struct {
	small bool // nodes with little room count
	free  *berths
	heavy []int64 // weights by node; nil: all alike
	procs int32
	least int32 // nodes it must have
	each  int32 // processors it must have on each
	most  int32 // nodes it may have
	runs  []nodeRun
	found []share // memory
}

// nodeRun is neighbouring nodes, up to one.
type nodeRun struct {
	from, to int32
	weight   int64
	room     int64
	used     bool
}

// emptiest chooses, of the nodes of the least weight first, those with the most room, as Slurm does in partitions with LLN; nil: not
// so many as the job may have do.
func (c *chooser) emptiest(j *job, free *berths) []share {
	each, procs, least, most := max(1, int32(j.Need.Each)), j.procs, j.apart(), j.most()
	list := c.found[:0]
	free.each(func(node, room int32) {
		if room >= each {
			list = append(list, share{node, room})
		}
	})
	c.found = list
	slices.SortStableFunc(list, func(a, b share) int {
		if c.weights != nil && c.weights[a.node] != c.weights[b.node] {
			return cmp.Compare(c.weights[a.node], c.weights[b.node])
		}
		return cmp.Compare(b.procs, a.procs)
	})
	for i := range list {
		list[i].procs = min(list[i].procs, procs-max(0, least-1)*each) // each of the others gets that at least
		if procs, least = procs-list[i].procs, least-1; procs <= 0 && least <= 0 {
			return list[:i+1]
		}
		if i+1 == int(most) {
			break
		}
	}
	return nil
}

// compact chooses nodes for a compact job, given the room of each.
func (c *chooser) compact(j *job, free *berths) []share {
	if j.Need.Spread {
		if list := c.emptiest(j, free); list != nil {
			return list
		}
	}
	k := nearby{small: c.small, free: free, heavy: c.weights, procs: j.procs, least: j.apart(), each: max(1, int32(j.Need.Each)), most: j.most(), runs: c.runs[:0], found: c.found}
	defer func() { c.runs, c.found = k.runs, k.found }()
	if k.most == 0 {
		k.most = math.MaxInt32
	}
	room := j.rest(c.widest)
	if c.small {
		room = 1
	}
	for room <= c.widest {
		ok, smallest := k.choose(room)
		if ok {
			return k.found
		}
		room = smallest + 1
	}
	list := c.bySize(free, 1<<30) // Slurm would not find those with the most room
	if j.Need.Nodes > 0 {
		return widest(list, int(j.apart()), j.procs, k.each)
	}
	return fewest(list, j.procs)
}

// choose chooses among the nodes that have room for so many processors, and tells
// whether they do, and the least room that one of them has.
func (k *nearby) choose(room int32) (ok bool, smallest int32) {
	smallest = k.divide(room)
	k.found = k.found[:0]
	procs, least, most := k.procs, k.least, k.most
	for procs > 0 || least > 0 {
		run := k.best(procs, least)
		if run == nil || most == 0 {
			return false, smallest
		}
		run.used = true
		if node := k.single(run, room, procs); least <= 1 && node >= 0 {
			k.found = append(k.found, share{node, procs})
			return true, smallest
		}
		for node := run.from; node < run.to && most > 0 && (procs > 0 || least > 0); node++ {
			if k.small && most == 1 && k.free.free[node] < procs {
				continue // it would be the last, and has not enough
			}
			part := min(k.free.free[node], procs-max(0, least-1)*k.each) // each of the others gets that at least
			k.found = append(k.found, share{node, part})
			procs, least, most = procs-part, least-1, most-1
		}
	}
	return true, smallest
}

// divide finds the runs of nodes with room for so many processors, and the least room that
// one of them has.
func (k *nearby) divide(room int32) (smallest int32) {
	k.runs, smallest = k.runs[:0], math.MaxInt32-1
	k.free.each(func(node, free int32) {
		if free < room {
			return
		}
		smallest = min(smallest, free)
		weight := int64(0)
		if k.heavy != nil {
			weight = k.heavy[node]
		}
		if n := len(k.runs); n == 0 || k.runs[n-1].to != node || k.runs[n-1].weight != weight {
			k.runs = append(k.runs, nodeRun{from: node, weight: weight})
		}
		run := &k.runs[len(k.runs)-1]
		run.to, run.room = node+1, run.room+int64(free)
	})
	return smallest
}

// best is, of the runs of the least weight, the one that is the least to hold so much, else the one with the most
// room; nil: there is none left.
func (k *nearby) best(procs, least int32) (best *nodeRun) {
	enough := func(r *nodeRun) bool { return r.room >= int64(procs) && r.to-r.from >= least }
	for i := range k.runs {
		r := &k.runs[i]
		switch {
		case r.used, best != nil && best.weight < r.weight:
		case best != nil && r.weight < best.weight:
			best = r
		case best == nil, enough(r) && (!enough(best) || r.room < best.room), !enough(r) && !enough(best) && r.room > best.room:
			best = r
		}
	}
	return best
}

// single is the node of a run that is the least to hold all, or -1.
func (k *nearby) single(run *nodeRun, room, procs int32) int32 {
	best := int32(-1)
	for node := run.from; node < run.to; node++ {
		if free := k.free.free[node]; free >= max(room, procs) && (best < 0 || free < k.free.free[best]) {
			best = node
		}
	}
	return best
}
