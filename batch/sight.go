package batch

import "math/bits"

// sight is how far ahead a policy that gives every job a place looks, where only the
// next starts are asked for. A job that starts later gets no place: it is enough to know
// that it starts not before a time, and on which nodes it might. Neither does one whose
// place would last beyond the first such time on the nodes that serve it, as the places
// that nobody has made might be in its way. What begins before is
// what a plan of all jobs has, job by job and node by node, since it ends before any of
// the others begins there. The zero value sees all.
type sight struct {
	partial bool  // not all places are made
	gone    bool  // nothing is known any more
	blind   int64 // no job that has no place begins before
	enough  int64 // it should not be blind before
	sets    [mostSets + 1]horizon
}

// horizon is how far a sight goes for the jobs of one set of nodes, see Need.set.
type horizon struct {
	end   int64  // places are looked for before
	blind int64  // none of these jobs that has no place begins before
	meets uint16 // sets that have a node in common with this one: a bit each
}

// Places are looked for a part of a middling limit beyond what is asked for: those of jobs
// that are in the way of others that are in the way of what is asked for. Where that is not
// enough it is twice as far, which is two depths more, and so on up to a depth at which all
// is seen. Who does not say how far he asks is taken to for a small part of such a limit.
const (
	partAhead   = 2
	deeperBy    = 2
	wholeDepth  = 7
	partUnasked = 8
)

// beyond is how far behind what is asked for places are looked for at a depth.
func beyond(limit int64, depth uint8) int64 {
	span := limit / partAhead << (depth / 2)
	if depth%2 > 0 {
		span += span * 2 / 5
	}
	return span
}

// depths are how often a sight was to go farther, by set of nodes.
type depths [mostSets + 1]uint8

// triedAgain is after how many runs less depth is tried.
const triedAgain = 16

// newSight is the sight for what starts in so many seconds, in a run in which jobs run as
// believed: of a policy that gives every job a place, and under conservative, where an
// early end might move any of them, if they run to their limits.
func newSight(m *Machine, b Belief, seconds int64, d depths) sight {
	var queue *waiting
	switch p := m.policy.(type) {
	case *conservative:
		if toLimits(b) {
			queue = &p.queue
		}
	case *backfill:
		if p.all() {
			queue = &p.queue
		}
	}
	nodes, byNode := m.plan.(*nodePlan)
	if !byNode || m.plain || queue == nil || queue.n < manyJobs || seconds == never {
		return sight{}
	}
	limit := queue.meanLimit()
	s := sight{partial: true, enough: m.now + max(seconds, limit/partUnasked)}
	for i := range s.sets {
		s.sets[i] = horizon{s.enough + beyond(limit, d[i]), never, nodes.sets.meeting(i)}
		if d[i] == wholeDepth {
			s.sets[i].end = never
		}
	}
	s.renew()
	return s
}

// deeper makes a sight go farther on the nodes where it is blind first, and on those that
// have jobs in common with them.
func (d *depths) deeper(s *sight) {
	first := 0
	for i := range s.sets {
		if s.sets[i].blind < s.sets[first].blind {
			first = i
		}
	}
	part := uint16(1) << first
	for was := uint16(0); was != part; {
		was = part
		for i := range s.sets {
			if part>>i&1 != 0 && s.sets[i].blind < never && (i > 0 || first == 0) {
				part |= s.sets[i].meets
			}
		}
	}
	for i := range d {
		if part>>i&1 != 0 {
			d[i] = min(d[i]+deeperBy, wholeDepth)
		}
	}
}

// less is one less of each depth.
func (d depths) less() depths {
	for i := range d {
		d[i] -= min(d[i], 1)
	}
	return d
}

// blindFrom is a time before which no job that has no place begins on the nodes of a need.
func (s *sight) blindFrom(n *Need) int64 {
	at := never
	for others := s.sets[n.set].meets; others != 0; others &= others - 1 {
		at = min(at, s.sets[bits.TrailingZeros16(others)].blind)
	}
	return at
}

// place finds a job's place, at a time or later, and tells whether it gets one. One that
// is out of sight is planned for a time before which it does not begin.
func (s *sight) place(m *Machine, j *job, from int64) bool {
	end, blind := never, never
	if s.partial {
		blind = s.blindFrom(j.Need)
		end = min(s.sets[j.Need.set].end, blind)
	}
	if j.planned = from; from < end {
		m.recall.find(m, j, end)
	}
	if !s.partial || j.planned < end && j.planned+j.limit <= blind || end == never {
		if j.planned == never {
			m.recall.note(j, nil)
		}
		return true
	}
	m.recall.note(j, nil)
	set := &s.sets[j.Need.set]
	set.blind = min(set.blind, j.planned)
	s.blind = min(s.blind, j.planned)
	return false
}

// blindAt tells whether a job that has no place may begin at a time.
func (s *sight) blindAt(at int64) bool { return s.partial && s.blind < never && at >= s.blind }

// lost is for what moves jobs to other places: it tells whether not all are known, so
// that nobody can say from now on.
func (s *sight) lost(now int64) bool {
	if s.partial {
		s.gone, s.blind = true, min(s.blind, now)
		for i := range s.sets {
			s.sets[i].blind = min(s.sets[i].blind, now)
		}
	}
	return s.partial
}

// renew is for places that are all made anew.
func (s *sight) renew() {
	s.blind = never
	for i := range s.sets {
		s.sets[i].blind = never
	}
}
