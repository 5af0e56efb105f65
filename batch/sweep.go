package batch

// sweep looks for the earliest start of a job by going through the times at
// which something comes free. It keeps the room that each node had when it was
// last looked at, which may since have become less, as later holdings come
// within reach, but not more: more there is only where something comes free.
// Where the rooms kept suffice, all are looked at again.
type sweep struct {
	p    *nodePlan
	j    *job
	at   int64
	each int32 // least room of use on a node
	want int64 // processors, or nodes where the job asks for a number of them
	free []int32
	sum  int64 // of what the nodes give towards want
}

// search returns the earliest start from at on, or a time of end or later.
func (s *sweep) search(end int64) int64 {
	if cap(s.free) < len(s.p.nodes) {
		s.free = make([]int32, len(s.p.nodes))
	}
	s.free = s.free[:len(s.p.nodes)]
	if s.look() {
		return s.at
	}
	next := entry{key: float64(s.at + 1), seq: -1}
	at, _ := s.p.releases.find(next)
	for {
		e, here, ok := s.p.releases.at(at)
		if !ok || int64(e.key) >= end {
			return end
		}
		at = here
		if s.at = int64(e.key); s.at < int64(next.key) {
			at.i++ // of the time where the search began
			continue
		}
		for ; ok && int64(e.key) == s.at; e, at, ok = s.p.releases.at(at) {
			s.renew(int32(e.seq))
			at.i++
		}
		if s.sum >= s.want && s.look() {
			return s.at
		}
	}
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

// look works out the room of every node and tells whether it suffices.
func (s *sweep) look() bool {
	s.sum = 0
	var now []int32
	if s.at == s.p.now {
		r := s.p.room(s.j.Need)
		if now = r.free; r.total < int64(s.j.procs) && !s.p.reserved && s.p.shut == nil {
			s.ahead(now)
			return false
		}
	}
	clear(s.free)
	for _, n := range s.j.Need.on {
		if s.p.shut != nil && s.p.shut[n] {
			continue
		}
		t := &s.p.nodes[n]
		if now == nil || now[n] > 0 && t.begin > s.at {
			s.free[n] = t.room(s.at, s.at+s.j.limit, s.j.Need)
		} else {
			s.free[n] = now[n]
		}
		if s.sum += s.gives(s.free[n]); s.sum >= s.want {
			return true
		}
	}
	return false
}

// ahead takes what is free now for the room, which may be too much.
func (s *sweep) ahead(now []int32) {
	copy(s.free, now)
	for _, n := range s.j.Need.on {
		s.sum += s.gives(now[n])
	}
}

// renew works out the room of one node on which something has come free.
func (s *sweep) renew(node int32) {
	n := s.j.Need
	if !n.serves(node) || s.p.shut != nil && s.p.shut[node] {
		return
	}
	room := s.p.nodes[node].room(s.at, s.at+s.j.limit, n)
	s.sum += s.gives(room) - s.gives(s.free[node])
	s.free[node] = room
}
