package batch

// sight is how far ahead a policy that gives every job a place looks, where only the
// next starts are asked for. A job that starts later gets no place: it is enough to know
// that it starts not before a time. Neither does one whose place would last beyond that
// time, as the places that nobody has made might be in its way. What begins before is
// what a plan of all jobs has, job by job and node by node, since it ends before any of
// the others begins. The zero value sees all.
type sight struct {
	end   int64 // places are looked for before; 0: all are made
	blind int64 // no job that has no place begins before
}

// spansAhead is how far beyond what is asked for places are looked for, in middling
// limits: those of jobs that are in the way of others that are in the way of what is
// asked for.
const spansAhead = 6

// newSight is the sight for what starts in so many seconds in a run in which jobs run as
// believed: of a policy that gives every job a place, and under conservative, where an
// early end might move any of them, if they run to their limits.
func newSight(m *Machine, b Belief, seconds int64) sight {
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
	_, byNode := m.plan.(*nodePlan)
	if !byNode || m.plain || queue == nil || queue.n < manyJobs || seconds == never {
		return sight{}
	}
	return sight{m.now + seconds + spansAhead*queue.meanLimit(), never}
}

// limit is the time before which a place is looked for.
func (s *sight) limit() int64 {
	if s.end == 0 {
		return never
	}
	return min(s.end, s.blind)
}

// place finds a job's place, at a time or later, and tells whether it gets one. One that
// is out of sight is planned for a time before which it does not begin.
func (s *sight) place(m *Machine, j *job, from int64) bool {
	end := s.limit()
	if j.planned = from; from < end {
		j.planned = m.plan.earliest(j, from, end)
	}
	if s.end == 0 || j.planned < end && j.planned+j.limit <= s.blind {
		return true
	}
	s.blind = min(s.blind, j.planned)
	return false
}

// blindAt tells whether a job that has no place may begin at a time.
func (s *sight) blindAt(at int64) bool { return s.end > 0 && s.blind < never && at >= s.blind }

// lost is for what moves jobs to other places: it tells whether not all are known, so
// that nobody can say from now on.
func (s *sight) lost(now int64) bool {
	if s.end > 0 {
		s.blind = min(s.blind, now)
	}
	return s.end > 0
}

// renew is for places that are all made anew.
func (s *sight) renew() { s.blind = never }
