package managers

// Role says what a neighbour is to a manager.
type Role uint8

// The roles of neighbours.
const (
	Parent Role = iota
	Child
)

// link is what a manager knows of one neighbour.
type link struct {
	role    Role
	up      bool
	pace    int    // by how many doublings it wants changes further apart
	leaf    bool   // a system that hands its waiting jobs over
	rooms   Set    // free in that direction, with marks
	whole   Set    // systems in that direction when empty
	sent    uint64 // requests sent since the link is up
	seen    uint64 // requests received
	pending []mark // requests sent that no change has seen yet

	told      Set // the last description sent
	toldWhole Set
	fresh     bool  // nothing was sent since the link is up
	owes      bool  // a request came that was not answered
	toldAt    int64 // when the last change was sent
}

// mark remembers a request that is on its way.
type mark struct {
	number uint64
	need   Resources
}

// take marks the row for a job that is sent: the smallest amount that has room
// for it goes, its rest comes. Whichever amount made the sender choose this
// direction, the job takes the smallest that fits when it is there.
func (l *link) take(need *Resources) {
	if i := l.rooms.smallest(need); i >= 0 {
		l.rooms = l.rooms.without(i, need)
	}
}

// count counts a request and remembers it until a change has seen it.
func (l *link) count(need *Resources, keep bool) {
	l.sent++
	if keep {
		l.pending = append(l.pending, mark{number: l.sent, need: *need})
	}
}

// learn takes a neighbour's description in and marks it again with what it has not seen.
// better says whether there may be room now where there was none.
func (l *link) learn(m *Message) (better bool) {
	l.leaf, l.pace = m.Leaf, m.Pace
	kept := l.pending[:0]
	for _, p := range l.pending {
		if p.number > m.Seen {
			kept = append(kept, p)
		}
	}
	l.pending = kept
	before := l.rooms
	l.rooms = append(make(Set, 0, len(m.Rooms)+1), m.Rooms...)
	if m.Whole != nil {
		l.whole = m.Whole
	}
	for i := range l.pending {
		l.take(&l.pending[i].need)
	}
	return !l.rooms.Equal(before)
}

// choose returns the index of the amount by which this row is compared with others, or -1 if none has room.
func (l *link) choose(need *Resources, worst bool) int {
	if worst {
		return l.rooms.largest(need)
	}
	return l.rooms.smallest(need)
}

// reset forgets everything about a neighbour, for a link that comes up or goes down.
func (l *link) reset(up bool) { *l = link{role: l.role, up: up, fresh: up} }

// expect does to the description last sent what the neighbour did to its row when it sent a job.
func (l *link) expect(need *Resources) {
	if i := l.told.smallest(need); i >= 0 {
		l.told = append(make(Set, 0, len(l.told)+1), l.told...).without(i, need)
	}
}

// asked counts a request that came over the link, and what it is to be answered with.
func (l *link) asked(j *Job, rules *Rules) {
	l.seen++
	l.owes = rules.Mark == MarkAck && !rules.Silent
	if rules.Silent && !j.Placed {
		l.expect(&j.Need)
	}
}
