package batch

import (
	"math"
	"math/bits"
	"slices"
	"sort"
)

// rest are the jobs behind those that a pass has given places, which it would give
// places too, were it asked: none of them could start now, so that nobody need know
// yet when they will. They get the places that the pass would have given them as
// soon as it matters: see settle.
type rest struct {
	pending bool    // there are some
	soonest int64   // none of them can start before
	free    []int32 // nodes of which something comes free at soonest
	may     []hope  // those that may start now, and some that may not, in order
	asked   int     // so many jobs have been tried since these were listed
	past    entry   // the last job of which it is sure that the pass passes over it
	left    margin  // what jobs could still have of what they share after the pass
	early   []job   // what has come free since the pass, which had reckoned with it: jobs that ended early, and see remains
}

// hope is a job that may start now, the so many-th from 0 of those not tried yet.
type hope struct{ job, nth int32 }

// lazy tells whether a pass may leave places for later: where they would be the same.
func (p *slurm) lazy(m *Machine) bool {
	_, byNode := m.plan.(*nodePlan)
	return byNode && !m.plain && !m.reserved && !p.charts() && !p.sparing() && !p.tally.counts(&p.Slurm)
}

// parts tells whether parts of the nodes may be planned by themselves: where that is so, and
// nothing that jobs have in one keeps others from starting in another.
func parts(p *slurm, m *Machine) bool { return !m.caps.any() && p.lazy(m) }

// clone copies what is left into the memory of an older copy.
func (r *rest) clone(old rest) rest {
	c := *r
	c.may, c.free, c.early = old.may, append(old.free[:0], r.free...), append(old.early[:0], r.early...)
	c.left = r.left.copy(old.left)
	return c
}

// list lists, of the jobs that a pass goes through from a place of the queue on, so many at
// most, those that last so long at most and may start now.
func (g ground) list(at place, most int, longest int64) {
	y := g.yard
	procs, span := y.vacancy(g.m.plan.(*nodePlan))
	y.may, y.asked, longest = y.may[:0], 0, min(longest, span)
	if g.m.caps.any() {
		y.let(g.m, at, most, procs, longest)
		return
	}
	for nth := 0; at.b < len(y.queue.blocks) && nth < most; at = (place{at.b + 1, 0}) {
		b := y.queue.blocks[at.b]
		jobs := b.jobs[min(at.i, len(b.jobs)):]
		jobs = jobs[:min(len(jobs), most-nth)]
		if n := len(jobs); n > 0 && jobs[n-1].after(&y.upto) {
			n = sort.Search(n, func(i int) bool { return jobs[i].after(&y.upto) })
			jobs, most = jobs[:n], nth+n
		}
		if b.limit <= longest && b.procs <= procs {
			for i := range jobs {
				if e := &jobs[i]; e.limit <= longest && e.procs <= procs {
					y.may = append(y.may, hope{e.job, int32(nth + i)})
				}
			}
		}
		nth += len(jobs)
	}
}

// let is list where jobs share what they have: who may not have a place is passed over, and
// does not count.
func (y *yard) let(m *Machine, at place, most int, procs int32, longest int64) {
	kinds := m.caps.plannable()
	for nth := int32(0); most > 0; nth++ {
		next, passed := y.queue.open(at, kinds)
		e, here, ok := y.queue.at(next)
		if !ok || e.after(&y.upto) {
			return
		}
		nth += int32(passed)
		if most--; e.limit <= longest && e.procs <= procs {
			y.may = append(y.may, hope{e.job, nth})
		}
		if at = (place{here.b, here.i + 1}); most == 0 {
			y.upto = e
		}
	}
}

// vacancy is how many processors of a yard are free now, and for how long one of them
// stays so at most.
func (y *yard) vacancy(p *nodePlan) (procs int32, span int64) {
	if p.reserved {
		return math.MaxInt32, never
	}
	room := p.room(p.clearings.anything(p))
	for i, w := range y.nodes {
		for w &= room.some[i]; w != 0; w &= w - 1 {
			node := i<<6 + bits.TrailingZeros64(w)
			if gap := p.nodes[node].gap(p.now); gap > 0 {
				procs, span = procs+room.free[node], max(span, gap)
			}
		}
	}
	return procs, span
}

// idle tells whether none of the jobs not tried yet could start now. The plan gets fuller:
// who could not start does not later.
func (r *rest) idle(m *Machine) bool {
	nodes := m.plan.(*nodePlan)
	for n := len(r.may) - 1; n >= 0 && int(r.may[n].nth) >= r.asked; n-- {
		if id := r.may[n].job; nodes.clearings.admit(nodes, &m.jobs[id]) && m.fits(id) {
			return false
		}
		r.may = r.may[:n]
	}
	return true
}

// postpone leaves the jobs not tried yet for later.
func (y *yard) postpone(p *nodePlan) {
	y.pending, y.rest.soonest, y.free = true, never, y.free[:0]
	e, here, ok := p.releases.at(p.releases.after(p.now))
	for ; ok && int64(e.key) <= y.rest.soonest; e, here, ok = p.releases.at(here) {
		for _, s := range p.releases.parts[e.job] {
			if y.has(s.node) {
				y.rest.soonest = int64(e.key)
				y.free = append(y.free, s.node)
			}
		}
		here.i++
	}
}

// settle gives places to all that the last pass left, before anything happens that
// was not planned.
func (g ground) settle() {
	if g.pending {
		g.before(func() { g.reach(false, never, never) })
	}
}

// stands tells whether a job that fits beside the places made fits beside all of them,
// and whether these make no difference to its nodes. No more are made than it takes.
func (g ground) stands(id int32) bool {
	for n := int64(looks); g.pending; n *= 2 {
		g.before(func() { g.reach(false, never, n) })
		fits, alone := g.fits(id)
		if !fits || alone {
			return fits
		}
	}
	return true
}

// fits tells whether a job fits now, but for the place that it has, and whether alone.
func (g ground) fits(id int32) (fits, alone bool) {
	m, y := g.m, g.yard
	j := &m.jobs[id]
	was, loose := j.planned, y.loose
	shares := y.lift(m, id)
	fits = m.plan.earliest(j, m.now, m.now+1) == m.now
	alone = fits && g.alone(j, was, shares)
	if was < never {
		y.put(m, id, was, shares)
	}
	y.loose = loose
	return fits, alone
}

// alone tells whether a job that fits now, and whose place, which is not in the plan,
// begins now, has no room but on the nodes of that. The places of jobs left for later
// are not on these: whatever they are, it starts on the same.
func (g ground) alone(j *job, was int64, shares []share) bool {
	nodes, ok := g.m.plan.(*nodePlan)
	if !ok || was != g.m.now || j.shrinks() {
		return false
	}
	room := nodes.room(j.Need)
	for _, n := range j.Need.on {
		if room.free[n] > 0 && !among(shares, n) && nodes.nodes[n].room(was, was+j.limit, j.Need) > 0 {
			return false
		}
	}
	return true
}

// among tells whether one of some shares is on a node.
func among(shares []share, node int32) bool {
	return slices.ContainsFunc(shares, func(s share) bool { return s.node == node })
}

// whole is what a job that only keeps others off nodes is known by, beside its seq.
const whole = int64(1) << 50

// remains notes that a job starts in its place and leaves a part of it: the last pass,
// in which others were left for later, had reckoned with all of it.
func (r *rest) remains(j *job, now int64, shares []share) {
	k := *j
	k.seq, k.start, k.blocks, k.shares = j.seq|whole, now, true, make([]share, len(shares))
	for i, s := range shares {
		k.shares[i].node = s.node
	}
	r.early = append(r.early, k)
}

// ended notes that a job ends before its limit. As long as none of the jobs left for
// later could have begun by then this may wait until it matters what they had.
func (g ground) ended(id int32) {
	j := &g.m.jobs[id]
	if !g.pending || !g.touches(j.shares) {
		return
	}
	if g.rest.soonest <= g.m.now {
		g.settle()
		return
	}
	g.early = append(g.early, *j)
}

// before lets something happen as if no job had ended early since the last pass, and none had
// started or ended that has what others want as well.
func (g ground) before(do func()) {
	m, y := g.m, g.yard
	m.caps.margin, y.left = y.left, m.caps.margin
	for i := range y.early {
		if j := &y.early[i]; m.now < j.start+j.limit {
			hold(m.plan, j, m.now, j.shares, j.start+j.limit-m.now)
		}
	}
	do()
	for i := range y.early {
		if j := &y.early[i]; m.now < j.start+j.limit {
			m.plan.vacate(j, m.now, j.start+j.limit)
		}
	}
	m.caps.margin, y.left = y.left, m.caps.margin
	if !y.pending {
		y.early = y.early[:0]
	}
}

// look gives places to those that the last pass left which might start now, when
// something comes free: on one of the nodes of which it does.
func (g ground) look() {
	if !g.pending || g.rest.soonest > g.m.now {
		return
	}
	g.before(func() {
		nodes := g.m.plan.(*nodePlan)
		longest := int64(0)
		for _, n := range g.free {
			longest = max(longest, nodes.nodes[n].gap(g.m.now))
		}
		if longest == 0 {
			g.postpone(nodes)
		} else {
			g.reach(true, longest, never)
		}
	})
}

// gap is for how long a node has a processor free from now on.
func (t *timeline) gap(now int64) int64 {
	t.learn()
	i, closes := t.past(now), t.closed.next(now)
	if i > 0 && t.full(i-1) {
		return 0
	}
	for ; i < len(t.steps) && t.steps[i] < closes; i++ {
		if t.full(i) {
			return t.steps[i] - now
		}
	}
	if closes < never {
		return closes - now
	}
	return never
}
