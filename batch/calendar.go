package batch

import (
	"math/bits"
	"slices"
)

// calendar says of every day, a stretch of time of one length, which nodes have
// not so many processors and GPUs free at some moment of it, and which at none: those are
// full. A job that would last the whole of a day has no room on the first, one that
// would begin in it none on the second; so most nodes need not be looked at, and most
// days not at all. A node of which nothing is said may be full nevertheless.
type calendar struct {
	portion         // so many
	base, day int64 // the first day's begin, and the length of a day
	days      int
	words     int      // of a day
	marks              // by what jobs hold there
	closed    *marks   // where the node is closed: of all calendars of a plan; nil: none was yet
	open      []uint64 // of the question asked last: the nodes that may do
	kept      []uint64 // memory for nodes
	none      []uint64 // no node
	ahead     ahead
}

// Bounds of a calendar: its days, its size in words, and how many days a job of
// middling length lasts.
const (
	mostDays   = 2048
	mostFull   = 1 << 18
	daysOfAJob = 24
	leastDay   = 60 // seconds
)

// manyJobs is from how many on it pays to prepare.
const manyJobs = 64

// portion is what jobs need of each of their nodes, at least.
type portion struct{ procs, gpus int32 }

// calendars are for jobs that need more and more of each of their nodes: the first for
// those to which any processor is of use, the last for those that need GPUs.
type calendars []*calendar

// Bounds of them: how many there are at most for processors, and how small a part of the
// jobs has one.
const (
	mostCalendars = 2
	fewJobs       = 32
)

// of is the calendar for jobs to which nodes are of use that have so much.
func (list calendars) of(each portion) *calendar {
	best := list[0]
	for _, c := range list[1:] {
		if c.procs <= each.procs && c.gpus <= each.gpus {
			best = c
		}
	}
	return best
}

// survey prepares the plan for many jobs of a queue to be placed.
func survey(m *Machine, queue *waiting) {
	if p, byNode := m.plan.(*nodePlan); byNode && queue.n >= manyJobs && !m.plain {
		p.survey(m, queue)
	}
}

// survey makes the calendars, where there are none or half of their time is past, for
// jobs of a queue that are to be placed one after the other.
func (p *nodePlan) survey(m *Machine, queue *waiting) {
	if len(p.calendars) > 0 {
		if c := p.calendars[0]; p.now-c.base < c.day*int64(c.days)/2 {
			return
		}
	}
	p.spares = append(p.spares, p.calendars...)
	p.calendars = p.calendars[:0]
	day, words := max(leastDay, queue.meanLimit()/daysOfAJob), (len(p.nodes)+63)/64
	days := min(mostDays, mostFull/max(1, words))
	if days < daysOfAJob {
		return
	}
	for _, least := range p.portions(m, queue) {
		c := p.spares.take(words, days)
		c.portion, c.base, c.day = least, p.now, day
		for i := range p.nodes {
			c.set(int32(i), &p.nodes[i], p.now, never)
		}
		p.calendars = append(p.calendars, c)
	}
	for i := range p.nodes {
		for _, k := range p.nodes[i].closed {
			p.calendars.close(int32(i), k.from, k.to)
		}
	}
}

// take is a calendar in which nothing is noted, in the memory of one of these where there is one.
func (list *calendars) take(words, days int) *calendar {
	for n := len(*list); n > 0; n = len(*list) {
		c := (*list)[n-1]
		*list = (*list)[:n-1]
		if c.words == words && c.days == days {
			clear(c.full)
			clear(c.shut)
			c.closed = nil
			return c
		}
	}
	return &calendar{words: words, days: days, open: make([]uint64, words), kept: make([]uint64, words), none: make([]uint64, words), marks: newMarks(days * words)}
}

// portions lists, from one on, how many processors jobs of a queue need of each of their
// nodes, as far as many need as much, and a GPU, where many need some.
func (c *chooser) portions(m *Machine, queue *waiting) (all []portion) {
	count, accelerated := make([]int, c.widest+1), 0
	for _, b := range queue.blocks {
		for i := range b.jobs {
			j := &m.jobs[b.jobs[i].job]
			if count[min(c.portion(j), c.widest)]++; j.Need.GPUs > 0 {
				accelerated++
			}
		}
	}
	list := []int32{1}
	for len(list) < mostCalendars {
		best := int32(0)
		for n := int32(2); n <= c.widest; n++ {
			if count[n] > count[best] {
				best = n
			}
		}
		if count[best]*fewJobs < queue.n {
			break
		}
		list, count[best] = append(list, best), 0
	}
	slices.Sort(list)
	for _, procs := range list {
		all = append(all, portion{procs: procs})
	}
	if accelerated*fewJobs >= queue.n {
		all = append(all, portion{1, 1})
	}
	return all
}

// meanLimit is how long the jobs of a queue last on average.
func (w *waiting) meanLimit() int64 {
	sum := int64(0)
	for _, b := range w.blocks {
		for i := range b.jobs {
			sum += min(b.jobs[i].limit, never>>20)
		}
	}
	return sum / int64(max(1, w.n))
}

// at is the day in which a time lies, of those that there are.
func (c *calendar) at(t int64) int {
	return int(min(max(0, (t-c.base)/c.day), int64(c.days)))
}

// set notes when in [from, to) a node, on which more is held than before, is full.
func (c *calendar) set(node int32, t *timeline, from, to int64) {
	end := min(to, c.base+c.day*int64(c.days))
	if from = max(from, c.base); from >= end || t.reserved > 0 || t.have.gpus < c.gpus {
		return
	}
	t.learn()
	dawn, dusk := c.base+c.day*int64(c.at(from)), c.tomorrow(end-1) // what else is held makes these days full
	i := max(0, t.past(from)-1)
	for i > 0 && t.steps[i] > dawn && c.fills(t, i-1) {
		i--
	}
	for i < len(t.steps) && t.steps[i] < end {
		if !c.fills(t, i) {
			i++
			continue
		}
		first, until := max(t.steps[i], dawn), dusk
		for i++; i < len(t.steps) && t.steps[i] < until; i++ {
			if !c.fills(t, i) {
				until = t.steps[i]
			}
		}
		c.mark(&c.marks, node, first, until)
	}
}

// fills tells whether a node is full in a step.
func (c *calendar) fills(t *timeline, step int) bool {
	used := &t.used[step]
	return t.have.procs-used.procs < c.procs || t.have.gpus-used.gpus < c.gpus
}

// full tells whether a node has no processor free in a step.
func (t *timeline) full(step int) bool { return t.used[step].procs >= t.have.procs }

// clear works out anew when in [from, to) a node, on which less is held than
// before, is full.
func (c *calendar) clear(node int32, t *timeline, from, to int64) {
	if from = max(from, c.base); from >= to {
		return
	}
	first, last := c.at(from), c.at(to-1)
	c.rub(&c.marks, node, first, last)
	c.set(node, t, c.base+c.day*int64(first), c.base+c.day*int64(last+1))
}

// nodes finds the nodes that may serve a sweep's job from some time of the day on in
// which at lies, and counts them.
func (c *calendar) nodes(s *sweep, at int64) (count int) {
	today := c.at(at)
	last := int(min(int64(c.days), int64(today)+s.j.limit/c.day))
	open := c.open
	copy(open, c.shut[today*c.words:])
	if c.closed != nil {
		for i := range open {
			open[i] |= c.closed.shut[today*c.words+i]
		}
	}
	if s.own == nil {
		c.pass(today+1, last)
	} else { // what its own place fills is not full
		split := max(today, min(last, c.at(s.until)))
		if c.close(today+1, split); split == today {
			c.admit(s.own, c.none)
		}
		copy(c.kept, open)
		c.close(max(today+1, split), last)
		c.admit(s.own, c.kept)
	}
	for i := range open {
		open[i] = s.j.Need.serve[i] &^ open[i]
		count += bits.OnesCount64(open[i])
	}
	return count
}

// close takes in the nodes that are full in [first, last).
func (c *calendar) close(first, last int) {
	c.take(c.full, first, last)
	if c.closed != nil {
		c.take(c.closed.full, first, last)
	}
}

func (c *calendar) take(full []uint64, first, last int) {
	open := c.open
	for d := first; d < last; d++ {
		today := full[d*c.words:]
		today = today[:len(open)]
		for i := range open {
			open[i] |= today[i]
		}
	}
}

// admit leaves only those of some nodes closed that are in a set.
func (c *calendar) admit(own []share, closed []uint64) {
	for _, s := range own {
		if bit := uint64(1) << (s.node & 63); closed[s.node>>6]&bit == 0 {
			c.open[s.node>>6] &^= bit
		}
	}
}

// tomorrow is when the day ends in which at lies.
func (c *calendar) tomorrow(at int64) int64 { return c.base + c.day*int64(c.at(at)+1) }

// wipe says nothing of a node any more.
func (c *calendar) wipe(node int32) {
	for i := int(node >> 6); i < len(c.full); i += c.words {
		c.full[i] &^= 1 << (node & 63)
		c.shut[i] &^= 1 << (node & 63)
	}
}

// byDay is search day by day.
func (s *sweep) byDay(end int64) int64 {
	c := s.calendar
	c.ahead.asked = 0
	s.memory()
	for at := s.dates.next(s.at); at < end; at = s.dates.next(at) {
		if c.at(at) == c.days {
			s.at, s.known = at, nil
			return s.through(end)
		}
		next := min(c.tomorrow(at), end)
		most := int64(c.nodes(s, at)) * s.best()
		if most >= s.want && s.within(at, next, most) {
			return s.at
		}
		if at = next; !s.j.blocks { // else nodes are kept of which the sums know nothing
			at = s.p.bound(s.j, at, end, s.until)
		}
	}
	return end
}

// within looks for a start from a time on until the end of its day, on the nodes
// that may do. What the rooms were when a node was last looked at they have at
// most.
func (s *sweep) within(at, until, most int64) bool {
	if s.strip(); !s.allDay(at, until, most) {
		return false
	}
	s.at, s.sum = at, 0
	clear(s.free.some)
	s.candidates(func(node int32) {
		room := s.room(node)
		s.free.set(node, room)
		s.sum += s.gives(room)
	})
	if s.sum >= s.want && s.holds() {
		return true
	}
	if !s.p.reserved {
		return s.rising(at, until)
	}
	e, here, ok := s.p.releases.at(s.p.releases.after(at))
	for ok && int64(e.key) < until {
		for s.at = int64(e.key); ok && int64(e.key) == s.at; e, here, ok = s.p.releases.at(here) {
			for _, part := range s.p.releases.parts[e.job] {
				if s.calendar.open[part.node>>6]>>(part.node&63)&1 != 0 {
					s.renew(part.node)
				}
			}
			here.i++
		}
		if s.sum >= s.want && s.afresh() {
			return true
		}
	}
	return false
}

// allDay keeps, of the nodes that may do, those that have room for the part of the
// job that is the same wherever in [from, to) it begins, and tells whether they,
// of which it is known that they give so much at most, may be enough.
func (s *sweep) allDay(from, to, most int64) bool {
	if s.known = nil; to >= from+s.j.limit {
		return true
	}
	s.known = s.p.known
	for i, w := range s.calendar.open {
		for ; w != 0 && most >= s.want; w &= w - 1 {
			node := int32(i<<6 + bits.TrailingZeros64(w))
			s.known[node] = newStretch(&s.p.nodes[node], to, from+s.j.limit, s.j.Need)
			gives := s.gives(s.known[node].room)
			if most += gives - s.best(); gives == 0 {
				s.calendar.open[i] &^= w & -w
			}
		}
	}
	return most >= s.want
}

// afresh looks once more at the nodes that have room, and tells whether there is
// enough.
func (s *sweep) afresh() bool {
	s.free.each(func(node, _ int32) { s.renew(node) })
	return s.sum >= s.want && s.holds()
}

// candidates visits the nodes that may do.
func (s *sweep) candidates(visit func(node int32)) {
	for i, w := range s.calendar.open {
		for ; w != 0; w &= w - 1 {
			visit(int32(i<<6 + bits.TrailingZeros64(w)))
		}
	}
}
