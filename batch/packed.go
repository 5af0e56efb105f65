package batch

import (
	"cmp"
	"slices"
)

// packed puts everything that is expected to run on nodes: where it is known
// to be, else on the first nodes that have room when it starts.
func (c *cluster) packed(held []span) *nodePlan {
	if _, ok := c.plan.(*nodePlan); ok {
		return c.expect(held).(*nodePlan)
	}
	p := newNodePlan(c.now, c.amounts())
	order := make([]*span, len(held))
	for i := range held {
		order[i] = &held[i]
	}
	slices.SortStableFunc(order, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(len(b.job.shares), len(a.job.shares)))
	})
	f := filler{free: make([]int32, len(p.nodes))}
	for i := range p.nodes {
		f.free[i] = p.nodes[i].have.procs
	}
	for _, s := range order {
		f.until(s.from)
		shares := s.job.shares
		if len(shares) == 0 {
			shares = f.first(s.job.procs)
		}
		for _, sh := range shares {
			f.free[sh.node] -= sh.procs
			p.take(sh.node, holding{s.from, s.to, s.job.seq, 0, sh.procs, amounts{procs: sh.procs}})
		}
		f.shares = append(f.shares, shares)
		f.ends.push(due{s.to, int64(len(f.shares)), int32(len(f.shares) - 1)})
	}
	return p
}

// filler keeps count of the free processors of nodes as time goes by.
type filler struct {
	free   []int32
	from   int // no node before this one has room
	ends   agenda
	shares [][]share
}

// until gives back what has ended by the time at.
func (f *filler) until(at int64) {
	for len(f.ends) > 0 && f.ends[0].at <= at {
		for _, s := range f.shares[f.ends.pop().job] {
			f.free[s.node] += s.procs
			f.from = min(f.from, int(s.node))
		}
	}
}

// first takes processors from the first nodes that have some.
func (f *filler) first(procs int32) (list []share) {
	for i := f.from; i < len(f.free) && procs > 0; i++ {
		if n := min(f.free[i], procs); n > 0 {
			list = append(list, share{int32(i), n})
			procs -= n
		} else if i == f.from {
			f.from++
		}
	}
	return list
}
