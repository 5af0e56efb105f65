package batch

import "slices"

// twins tells which kinds of needs have the same room on every node at any time: where no
// job has more memory for a processor than every node has for each of its own, those that
// differ in memory alone are one.
type twins struct {
	ample int64   // the least memory that a node has for each of its processors, if no job has had more; 0: one has
	of    []int   // by Need.kind: the kind that it is taken for, from 1; 0: not known yet
	needs []*Need // one of each
}

// mostTwins bounds the needs that others are held against.
const mostTwins = 64

// begin is for a new pass on a plan.
func (t *twins) begin(p *nodePlan) {
	ample := p.leanest
	if p.heaviest > ample {
		ample = 0
	}
	if t.ample != ample {
		*t = twins{ample: ample}
	}
}

// kind is what a need's kind is taken for, of a job that has a place: no such job asks for more than ample.
func (t *twins) kind(n *Need) int {
	if t.ample == 0 {
		return n.kind
	}
	for n.kind >= len(t.of) {
		t.of = append(t.of, 0)
	}
	if t.of[n.kind] == 0 {
		i := slices.IndexFunc(t.needs, func(o *Need) bool {
			return n.Disk == o.Disk && n.GPUs == o.GPUs && n.Each == o.Each && n.Core == o.Core && n.Whole == o.Whole && n.access == o.access && slices.Equal(n.serve, o.serve)
		})
		if i < 0 && len(t.needs) < mostTwins {
			i, t.needs = len(t.needs), append(t.needs, n)
		}
		if t.of[n.kind] = n.kind + 1; i >= 0 {
			t.of[n.kind] = t.needs[i].kind + 1
		}
	}
	return t.of[n.kind] - 1
}
