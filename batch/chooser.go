package batch

import (
	"cmp"
	"slices"
)

// chooser picks nodes for jobs, given the room of each.
type chooser struct {
	widest  int32     // the most processors of a node
	weights []int64   // by node, of those that are not alike; else nil
	small   bool      // nodes with little room count: see nearby
	sizes   []int32   // memory for bySize and wide
	runs    []nodeRun // memory for compact
	found   []share   // memory for what is picked
}

// pick lists nodes for j, given the room of each, in the order in which they
// are taken. The list is good until the next one is asked for.
func (c *chooser) pick(j *job, free *berths) []share {
	if j.compact {
		return c.compact(j, free)
	}
	if j.Need.Nodes > 0 {
		each, left, found := j.each(), j.procs, c.found[:0]
		free.each(func(n, free int32) {
			if free >= each && left > 0 {
				found = append(found, share{n, each})
				left -= each
			}
		})
		c.found = found
		return found
	}
	return c.bySize(free, j.procs)
}

// each is the processors that a job which asks for a number of nodes wants on
// every one.
func (j *job) each() int32 {
	n := int32(j.Need.Nodes)
	return (j.procs + n - 1) / n
}

// bySize lists nodes by their room, least first, as many as have so many
// processors.
func (c *chooser) bySize(free *berths, procs int32) []share {
	c.sizes = append(c.sizes[:0], make([]int32, c.widest+2)...)
	free.each(func(_, size int32) { c.sizes[size]++ })
	most, at, left := int32(0), int32(0), procs
	for size := int32(1); size <= c.widest; size++ { // numbers of nodes become places in the list
		count := c.sizes[size]
		c.sizes[size] = at
		if left > 0 {
			at += count
			most = size
		}
		left -= min(left, count*size)
	}
	c.found = slices.Grow(c.found[:0], int(at))[:at]
	found := c.found
	free.each(func(n, size int32) {
		if size <= most {
			found[c.sizes[size]] = share{n, size}
			c.sizes[size]++
		}
	})
	return found
}

// apart is how many nodes a compact job must have.
func (j *job) apart() int32 {
	return max(1, min(j.procs/max(1, int32(j.Need.Each)), int32(j.Need.Nodes)))
}

// widest takes so many of the nodes with the most room, and of each at least so many
// processors.
func widest(found []share, nodes int, procs, each int32) []share {
	slices.SortStableFunc(found, func(a, b share) int { return cmp.Compare(b.procs, a.procs) })
	found = found[:min(nodes, len(found))]
	for i := range found {
		found[i].procs = min(found[i].procs, procs-int32(len(found)-1-i)*each)
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
