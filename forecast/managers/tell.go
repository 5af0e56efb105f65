package managers

// telling is what the neighbours have yet to hear, and when.
type telling struct {
	refreshed int64 // when it was last looked whether a refresh is due
	shaped    bool  // systems or names may have come or gone since all neighbours were told
	pace      pace
}

// tell sends every neighbour what it does not know: the generalisation of what
// came from all others and of the own resources, where it differs from what was
// sent last, and wherever an answer is owed.
func (t *telling) tell(now int64, d *dispatch, h *healing, wake *alarm) {
	d.tables.merge()
	waits := false
	refresh := t.refreshDue(now, d.rules.Refresh, wake)
	for i := range d.tables.links {
		l := &d.tables.links[i]
		if !l.up || d.rules.AnswersOnly && !l.owes {
			continue
		}
		if l.leaf && !l.fresh && !t.shaped {
			l.owes = false
			continue
		}
		n := Neighbour(i)
		if d.rules.Alongside && t.alongside(now, n, d) {
			continue
		}
		differs := l.fresh || !d.tables.sameAsTold(n, d.rules.Keep) || t.shaped && (wholeDiffers(n, &d.tables) || h.differs(n, &d.tables))
		if differs && !l.owes && !l.fresh && !refresh {
			if due := l.toldAt + t.interval(n, d); now < due {
				wake.at(due)
				differs, waits = false, true
			}
		}
		if differs || l.owes || refresh {
			t.sendChange(now, n, d, h)
		}
	}
	t.shaped = t.shaped && waits
}

// calm is by how many doublings changes are held back longer that tell of no more room than before.
const calm = 2

// interval is the least time between two changes for a neighbour. That there is less room starts no job, and who does not
// know it yet asks in vain now and then: what costs jobs time is where room is told late.
func (t *telling) interval(n Neighbour, d *dispatch) int64 {
	interval := d.rules.Interval << d.tables.links[n].pace
	if d.rules.Calm && interval > 0 && !t.shaped && d.tables.noMore(n, d.rules.Keep) {
		interval <<= calm
	}
	return interval
}

// alongside lets a request that leaves for a neighbour now carry the change
// that is due there, so that it needs no message of its own.
func (t *telling) alongside(now int64, n Neighbour, d *dispatch) bool {
	l := &d.tables.links[n]
	if l.fresh || t.shaped || d.tables.sameAsTold(n, d.rules.Keep) {
		return false
	}
	for i := range d.out.Sends {
		s := &d.out.Sends[i]
		if s.To != n || s.Message.Job == nil {
			continue
		}
		l.told, l.toldAt, l.owes = d.tables.describe(n, d.rules.Keep), now, false
		s.Message.With, s.Message.Rooms, s.Message.Seen = true, l.told, l.seen
		s.Message.Leaf, s.Message.Pace = d.pools(), t.pace.wanted(&d.rules)
		return true
	}
	return false
}

// refreshDue says whether everybody is to be told everything again, so often.
func (t *telling) refreshDue(now, every int64, wake *alarm) bool {
	if every <= 0 {
		return false
	}
	due := now/every > t.refreshed/every
	t.refreshed = now
	wake.at((now/every + 1) * every)
	return due
}

// sendChange sends the present description, and what else is new.
func (t *telling) sendChange(now int64, n Neighbour, d *dispatch, h *healing) {
	l := &d.tables.links[n]
	l.told = d.tables.describe(n, d.rules.Keep)
	msg := Message{Rooms: l.told, Seen: l.seen, Leaf: d.pools(), Pace: t.pace.wanted(&d.rules)}
	if l.fresh || t.shaped && wholeDiffers(n, &d.tables) {
		l.toldWhole = d.tables.whole(n)
		msg.Whole = l.toldWhole
	}
	if l.role == Child {
		msg.Shape = h.news(n, &d.tables)
	}
	if !l.owes || l.fresh {
		l.toldAt = now
	}
	l.fresh, l.owes = false, false
	d.out.Sends = append(d.out.Sends, Send{To: n, Message: msg})
}

// wholeDiffers says whether a neighbour knows of other systems than there are.
func wholeDiffers(n Neighbour, t *tables) bool { return !t.links[n].toldWhole.Equal(t.whole(n)) }
