package batch

import (
	"cmp"
	"math"
	"slices"
)

// ladder is how Slurm orders jobs that give way to each other by QOS: one to which another
// gives way is before that, whatever their tiers and priorities. Where that makes levels,
// each before all below it, they are a part of the key. Where it makes none (one is
// before another, and a third goes by priority with both) the order is what comes out when
// Slurm sorts the jobs by pairs, by halves, and another one whenever a job comes or goes.
type ladder struct {
	known   []*standing // as this and levels are shared by copies, they are never changed in place
	levels  []int       // of each, from 0
	tangled bool        // they do not tell the order
	moved   bool        // jobs have come or gone since they were ordered
}

// A level outweighs any tier; keys are exact up to so many levels.
const (
	rung       = 1e15
	mostLevels = 9
)

// before tells whether jobs of another standing are behind those of this one.
func (s *standing) before(o *standing) bool {
	return s != nil && o != nil && s.qos != o.qos && slices.Contains(s.over, o.qos)
}

// learn takes in the standing of a job that comes, and tells whether it is a new one.
func (l *ladder) learn(s *standing) bool {
	if s == nil || s.over == nil || slices.Contains(l.known, s) {
		return false
	}
	l.known = append(slices.Clip(l.known), s)
	below := make([]int, len(l.known))
	for i, s := range l.known {
		for _, o := range l.known {
			if s.before(o) {
				below[i]++
			}
		}
	}
	steps := slices.Compact(slices.Sorted(slices.Values(below)))
	l.levels, l.tangled = make([]int, len(below)), len(steps) > mostLevels
	for i, s := range l.known {
		l.levels[i], _ = slices.BinarySearch(steps, below[i])
		for k, o := range l.known {
			l.tangled = l.tangled || s.before(o) != (below[i] > below[k])
		}
	}
	return true
}

// key orders a job: where the order is still to be made it is the last.
func (l *ladder) key(j *job) float64 {
	if l.tangled {
		return math.MaxFloat64
	}
	if i := slices.Index(l.known, j.standing); i >= 0 {
		return -j.weight - float64(l.levels[i])*rung
	}
	return -j.weight
}

// number gives the jobs of a queue keys by their order.
func (l *ladder) number(m *Machine, queue *waiting) {
	ids := make([]int32, 0, queue.n)
	queue.each(func(e *entry) { ids = append(ids, e.job) })
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(m.jobs[a].seq, m.jobs[b].seq) })
	byPairs(m, ids, make([]int32, len(ids)))
	for i, id := range ids {
		m.jobs[id].key = float64(i)
	}
}

// byPairs sorts jobs as Slurm does: in halves of which the first is the smaller one, and then
// both into one.
func byPairs(m *Machine, ids, spare []int32) {
	half := len(ids) / 2
	if half == 0 {
		return
	}
	byPairs(m, ids[:half], spare)
	byPairs(m, ids[half:], spare)
	first, second, at := spare[:copy(spare, ids[:half])], ids[half:], 0
	for ; len(first) > 0 && len(second) > 0; at++ {
		if compareJobs(&m.jobs[first[0]], &m.jobs[second[0]]) <= 0 {
			ids[at], first = first[0], first[1:]
		} else {
			ids[at], second = second[0], second[1:]
		}
	}
	copy(ids[at:], first)
}

// compareJobs compares two jobs as Slurm does.
func compareJobs(a, b *job) int {
	switch {
	case a.standing.before(b.standing):
		return -1
	case b.standing.before(a.standing):
		return 1
	}
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.seq, b.seq))
}
