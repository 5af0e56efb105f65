package batch

import (
	"cmp"
	"slices"
)

// packed puts everything that is expected to run on nodes: where it is known
// to be, else on the first nodes that have room when it starts.
func (f *Forecast) packed() *nodePlan {
	if nodes, ok := f.c.plan.(*nodePlan); ok {
		return f.expect(nodes)
	}
	p := f.c.nodes.plan(f.c.now)
	order := make([]*span, len(f.held))
	for i := range f.held {
		order[i] = &f.held[i]
	}
	slices.SortStableFunc(order, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(len(b.job.shares), len(a.job.shares)))
	})
	fill := filler{free: make([]int32, len(p.nodes))}
	for i := range p.nodes {
		fill.free[i] = p.nodes[i].have.procs
	}
	for _, s := range order {
		fill.until(s.from)
		shares := s.job.shares
		if len(shares) == 0 {
			shares = fill.first(s.job.procs)
		}
		for _, sh := range shares {
			fill.free[sh.node] -= sh.procs
			p.take(sh.node, holding{s.from, s.to, s.job.seq, 0, sh.procs, amounts{procs: sh.procs}})
		}
		fill.shares = append(fill.shares, shares)
		fill.ends.push(due{s.to, int64(len(fill.shares)), int32(len(fill.shares) - 1)})
	}
	return p
}

// expect is the plan by nodes of what is expected to run, with the reservations.
func (f *Forecast) expect(nodes *nodePlan) *nodePlan {
	p := f.c.nodes.plan(f.c.now)
	for i := range nodes.nodes {
		for _, h := range nodes.nodes[i].held {
			if h.owner < 0 {
				p.keep(h.within, h.from, h.to, []share{{int32(i), h.procs}})
			}
		}
	}
	for i := range f.held {
		p.hold(&f.held[i].job, f.held[i].from, f.held[i].to, f.held[i].job.shares)
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
