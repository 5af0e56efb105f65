package managers

// holder is one amount of the merged table and who has it.
type holder struct {
	amount Resources
	by     Neighbour // the first holder; Here for the own system
	more   bool      // there are others
}

// tell sends every neighbour what it does not know: the generalisation of what
// came from all others and of the own resources, where it differs from what was
// sent last, and wherever an answer is owed.
func (m *Manager) tell(now int64) {
	m.merge()
	waits := false
	refresh := m.refreshDue(now)
	for i := range m.links {
		l := &m.links[i]
		if !l.up {
			continue
		}
		n := Neighbour(i)
		if m.rules.AnswersOnly && !l.owes {
			continue
		}
		if l.leaf && !l.fresh && !m.shaped {
			l.owes = false
			continue
		}
		differs := l.fresh || !m.sameAsTold(n) || m.wholeDiffers(n) || m.shaped && m.shapeDiffers(n)
		if differs && !l.owes && !l.fresh && !refresh && m.rules.Interval > 0 && now < l.toldAt+m.rules.Interval {
			m.later(l.toldAt + m.rules.Interval)
			differs, waits = false, true
		}
		if differs || l.owes || refresh {
			m.sendChange(now, n)
		}
	}
	m.shaped = m.shaped && waits
}

// refreshDue says whether everybody is to be told everything again.
func (m *Manager) refreshDue(now int64) bool {
	every := m.rules.Refresh
	if every <= 0 {
		return false
	}
	due := now/every > m.refreshed/every
	m.refreshed = now
	m.later((now/every + 1) * every)
	return due
}

// sendChange sends the present description, and what else is new.
func (m *Manager) sendChange(now int64, n Neighbour) {
	l := &m.links[n]
	l.told = m.describe(n)
	msg := Message{Rooms: l.told, Seen: l.seen, Leaf: m.pools()}
	if m.wholeDiffers(n) || l.fresh {
		l.toldWhole = m.whole(n)
		msg.Whole = l.toldWhole
	}
	if l.role == Child {
		msg.Shape = m.shapeFor(n)
	}
	if !l.owes || l.fresh {
		l.toldAt = now
	}
	l.fresh, l.owes = false, false
	m.out.Sends = append(m.out.Sends, Send{To: n, Message: msg})
}

// merge makes the table of all amounts with their holders.
func (m *Manager) merge() {
	m.merged = m.merged[:0]
	if m.system && m.drain == "" && m.free.CPUs > 0 {
		m.merged = append(m.merged, holder{amount: m.free, by: Here})
	}
	for i := range m.links {
		if l := &m.links[i]; l.up && len(l.rooms) > 0 {
			m.mergeIn(l.rooms, Neighbour(i))
		}
	}
}

// mergeIn merges a neighbour's amounts into the table; both are in order.
func (m *Manager) mergeIn(rooms Set, by Neighbour) {
	old, table, i := m.merged, m.spare[:0], 0
	for k := range rooms {
		c := -1
		for ; i < len(old); i++ {
			if c = compare(&old[i].amount, &rooms[k]); c >= 0 {
				break
			}
			table = append(table, old[i])
		}
		if c != 0 || i == len(old) {
			table = append(table, holder{amount: rooms[k], by: by})
			continue
		}
		table = append(table, holder{amount: old[i].amount, by: old[i].by, more: true})
		i++
	}
	m.merged, m.spare = append(table, old[i:]...), old
}

// sameAsTold says whether the description for a neighbour is the one sent last.
func (m *Manager) sameAsTold(n Neighbour) bool {
	told := m.links[n].told
	if m.rules.Keep > 0 {
		return told.Equal(m.describe(n))
	}
	k := 0
	for i := range m.merged {
		h := &m.merged[i]
		if h.by == n && !h.more {
			continue
		}
		if k >= len(told) || told[k] != h.amount {
			return false
		}
		k++
	}
	return k == len(told)
}

// describe returns the description for a neighbour. Nothing of what came from
// it is in it (split horizon).
func (m *Manager) describe(n Neighbour) Set {
	s := make(Set, 0, len(m.merged))
	for i := range m.merged {
		if h := &m.merged[i]; h.by != n || h.more {
			s = append(s, h.amount)
		}
	}
	if m.rules.Keep > 0 {
		s = s.widest(m.rules.Keep)
	}
	return s
}

// whole returns what systems have when empty, as seen from a neighbour.
func (m *Manager) whole(n Neighbour) Set {
	s := Set{}
	if m.system {
		s = s.with(&m.total)
	}
	for i := range m.links {
		if l := &m.links[i]; l.up && Neighbour(i) != n {
			for k := range l.whole {
				s = s.with(&l.whole[k])
			}
		}
	}
	return s.widest(maxWhole)
}

// maxWhole bounds how many kinds of systems are told.
const maxWhole = 16

func (m *Manager) wholeDiffers(n Neighbour) bool {
	return m.shaped && !m.links[n].toldWhole.Equal(m.whole(n))
}
