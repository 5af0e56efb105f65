package batch

// sweep looks for the earliest start of a job by going through the times at
// which something comes free. It keeps the room that each node had when it was
// last looked at, which may since have become less, as later holdings come
// within reach, but not more: more there is only where something comes free.
// Where the rooms kept suffice, those are looked at again on which something is
// to begin.
type sweep struct {
	p        *nodePlan
	j        *job
	at       int64
	until    int64   // of all processors free those are not known from then on: see earlier
	own      []share // what its own place is, which does not count
	bare     bool    // that is not in the time lines: see strip
	each     int32   // least room of use on a node
	want     int64   // processors, or nodes where the job asks for a number of them
	free     *berths
	sum      int64     // of what the nodes give towards want
	from     place     // of the first release after at
	calendar *calendar // where it goes by days
	dates    *dates    // the days on which it need look; nil: all
	known    []stretch // by node, of the part of the job that lies in the day wherever it begins
}

// begin sets a sweep up.
func (p *nodePlan) begin(j *job, at int64) sweep {
	s := sweep{p: p, j: j, at: at, until: never, each: p.portion(j), want: int64(j.procs)}
	if j.Need.Nodes > 0 {
		s.want = int64(j.Need.Nodes)
	}
	return s
}

// portion is how many processors of a node are of use to a job, at least.
func (c *chooser) portion(j *job) int32 {
	switch {
	case j.compact:
		return j.rest(c.widest)
	case j.Need.Nodes > 0:
		return j.each()
	}
	return 1
}

// rest is what a compact job needs at least of each of its nodes, where the others
// are all of the widest.
func (j *job) rest(widest int32) int32 {
	most := int64(j.most())
	if most == 0 {
		return 1
	}
	return int32(max(1, int64(j.procs)-(most-1)*int64(widest)))
}

// search returns the earliest start from at on, or a time of end or later.
func (s *sweep) search(end int64) int64 {
	if s.p.shut == nil && len(s.p.calendars) > 0 {
		s.calendar = s.p.calendars.of(portion{s.each, int32(s.j.Need.GPUs)})
		return s.byDay(end)
	}
	return s.through(end)
}

// through is search through all that comes free.
func (s *sweep) through(end int64) int64 {
	s.strip()
	if s.set(); s.sum >= s.want && s.again() {
		return s.at
	}
	for at, bound := s.from, s.at; ; {
		if s.at >= bound {
			bound = s.p.bound(s.j, s.at+1, end, s.until)
		}
		if bound >= end {
			return end
		}
		e, here, ok := s.p.releases.at(at)
		if !ok || int64(e.key) >= end {
			return end
		}
		if at, s.at = here, int64(e.key); s.at < bound && s.far(at, bound) {
			s.at = bound
			s.all()
			at = s.from
		} else {
			at = s.reach(at)
		}
		if s.at >= bound && s.sum >= s.want && s.again() {
			return s.at
		}
	}
}

// strip takes the job's own place from the time lines, before they are looked at.
func (s *sweep) strip() {
	if s.own != nil && !s.bare {
		s.bare = true
		s.blank(-1)
	}
}

// blank takes the job's place in the future from what is known to be held on nodes, or
// adds it again. The rest of the plan keeps it.
func (s *sweep) blank(sign int32) {
	for _, own := range s.own {
		t := &s.p.nodes[own.node]
		t.learn()
		t.change(s.p.now, &holding{from: s.j.planned, to: s.j.planned + s.j.limit, amounts: s.j.Need.part(own.procs)}, sign)
	}
}

// far tells whether many releases, of those from a place on, lie before a time.
func (s *sweep) far(at place, before int64) bool {
	at.i += 2 * near
	e, _, ok := s.p.releases.at(at)
	return ok && int64(e.key) < before
}

// reach takes in what comes free at the time at, of which the first is at a
// place, and returns the next place.
func (s *sweep) reach(at place) place {
	e, at, ok := s.p.releases.at(at)
	for ; ok && int64(e.key) == s.at; e, at, ok = s.p.releases.at(at) {
		for _, part := range s.p.releases.parts[e.job] {
			s.renew(part.node)
		}
		at.i++
	}
	return at
}

// look works out the room of every node and tells whether it suffices.
func (s *sweep) look() bool {
	s.set()
	return s.again()
}

// near is so few releases that looking at what they free is cheaper than looking
// at all nodes.
const near = 48

// set works out the rooms to begin with: those of now, and what comes free
// until the time at, or where that is much, all of them.
func (s *sweep) set() {
	s.memory()
	if s.p.shut != nil || s.at > s.p.now && !s.close() {
		s.all()
		return
	}
	r := s.p.room(s.j.Need)
	s.free.copy(&r.berths)
	if s.sum = r.total; s.j.Need.Nodes > 0 {
		s.sum = r.atLeast(s.each)
	}
	at := place{}
	e, here, ok := s.p.releases.at(at)
	for ; ok && int64(e.key) <= s.at; e, here, ok = s.p.releases.at(at) {
		for _, part := range s.p.releases.parts[e.job] {
			if s.at > s.p.now {
				s.renew(part.node)
			}
		}
		at = here
		at.i++
	}
	s.from = at
}

func (s *sweep) memory() {
	if len(s.p.known) != len(s.p.nodes) {
		s.p.known = make([]stretch, len(s.p.nodes))
	}
	s.p.sweep, s.p.swept = s.p.sweep.sized(len(s.p.nodes)), swept{}
	s.free = &s.p.sweep
}

// close tells whether few releases lie between now and the time at.
func (s *sweep) close() bool {
	e, _, ok := s.p.releases.at(place{0, near})
	return !ok || int64(e.key) > s.at
}

// all works out the room of every node, and where the releases after at begin.
func (s *sweep) all() {
	s.sum = 0
	clear(s.free.some)
	for _, n := range s.j.Need.on {
		if s.p.shut == nil || !s.p.shut[n] {
			room := s.p.nodes[n].room(s.at, s.at+s.j.limit, s.j.Need)
			s.free.set(n, room)
			s.sum += s.gives(room)
		}
	}
	s.from = s.p.releases.after(s.at)
}

// again looks once more at the nodes on which something is to begin and tells
// whether there is enough.
func (s *sweep) again() bool {
	n := s.j.Need
	for _, node := range s.p.later.planned(s.p) {
		if free := s.free.at(node); free > 0 {
			room := s.p.nodes[node].room(s.at, s.at+s.j.limit, n)
			s.sum += s.gives(room) - s.gives(free)
			s.free.set(node, room)
		}
	}
	return s.sum >= s.want && s.holds()
}

// holds tells whether so many nodes as a compact job may have hold all of it.
func (s *sweep) holds() bool {
	most := s.j.most()
	if most == 0 {
		return true
	}
	sizes := make([]int32, s.p.widest+1)
	s.free.each(func(_, free int32) { sizes[min(free, s.p.widest)]++ })
	left := s.j.procs
	for size := s.p.widest; size > 0 && left > 0 && most > 0; size-- {
		take := min(sizes[size], most)
		most -= take
		left -= min(left, take*size)
	}
	return left <= 0
}

// most is how many nodes a compact job may have at most; 0: any number.
func (j *job) most() int32 {
	switch {
	case !j.compact:
		return 0
	case j.Need.Nodes > 0:
		return int32(j.Need.Nodes)
	}
	return int32(j.Need.MaxNodes)
}

// beside tells the same of now, without keeping the rooms.
func (s *sweep) beside(r *room) bool {
	if s.p.shut != nil || s.j.most() > 0 {
		return s.look()
	}
	sum, n := r.total, s.j.Need
	if n.Nodes > 0 {
		sum = r.atLeast(s.each)
	}
	for _, node := range s.p.later.planned(s.p) {
		if sum < s.want {
			return false
		}
		if free := r.free[node]; free > 0 {
			sum += s.gives(s.p.nodes[node].room(s.at, s.at+s.j.limit, n)) - s.gives(free)
		}
	}
	return sum >= s.want
}

// gives is what room on a node gives towards want.
func (s *sweep) gives(room int32) int64 {
	switch {
	case room < s.each:
		return 0
	case s.j.Need.Nodes > 0:
		return 1
	}
	return int64(room)
}

// best is the most that a node can give towards want.
func (s *sweep) best() int64 {
	if s.j.Need.Nodes > 0 {
		return 1
	}
	return int64(s.p.widest)
}

// room is the room of a node at the time at.
func (s *sweep) room(node int32) int32 {
	t := &s.p.nodes[node]
	if s.known != nil {
		return s.known[node].around(t, s.at, s.at+s.j.limit, s.j.Need)
	}
	return t.room(s.at, s.at+s.j.limit, s.j.Need)
}

// renew works out the room of one node on which something has come free.
func (s *sweep) renew(node int32) {
	n := s.j.Need
	if !n.serves(node) || s.p.shut != nil && s.p.shut[node] {
		return
	}
	room := s.room(node)
	s.sum += s.gives(room) - s.gives(s.free.at(node))
	s.free.set(node, room)
}
