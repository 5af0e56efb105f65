package managers

import "slices"

// look looks through the queue, by priority: a job starts in the own system,
// goes to the neighbour whose row fits, or stays. Where no room can have come
// since the last look only jobs that are new are tried, and those that a bound
// of hops keeps: one that would go on if it might ends the look.
func (m *Manager) look() {
	if !m.inc && !(m.rules.StayAtBound && m.rules.MaxHops > 0) {
		m.lookAtNew()
		return
	}
	var none failed
	kept, again := m.queue[:0], false
	for i, j := range m.queue {
		isNew := slices.Contains(m.added, i)
		if m.rules.Strict && len(kept) > 0 || !m.inc && !isNew && !m.stays(j) || none.covers(&j.Need) {
			kept = keep(kept, m.queue, i)
			m.arrived(j, isNew)
			continue
		}
		if m.place(j) {
			continue
		}
		again = m.stays(j) && m.fits(j)
		if !again && m.triedInVain(j) {
			none.add(&j.Need)
		}
		if again || none.everything() {
			kept = append(kept, m.queue[i:]...)
			m.arrivedBehind(i)
			break
		}
		kept = keep(kept, m.queue, i)
		m.arrived(j, isNew)
	}
	clear(m.queue[len(kept):])
	m.queue = kept
	m.inc, m.added = again, m.added[:0]
}

// lookAtNew looks at the jobs that joined the queue since the last look, in its order.
func (m *Manager) lookAtNew() {
	var none failed
	var gone []int
	slices.Sort(m.added)
	for _, i := range m.added {
		j := m.queue[i]
		if m.rules.Strict && i > len(gone) || none.covers(&j.Need) {
			m.arrived(j, true)
		} else if m.place(j) {
			gone = append(gone, i)
		} else {
			if m.triedInVain(j) {
				none.add(&j.Need)
			}
			m.arrived(j, true)
		}
	}
	for _, i := range slices.Backward(gone) {
		m.queue = slices.Delete(m.queue, i, i+1)
	}
	m.added = m.added[:0]
}

// keep adds job i of a queue to those of it that were kept, in the same place.
func keep(kept, all queue, i int) queue {
	if len(kept) == i {
		return all[:i+1]
	}
	return append(kept, all[i])
}

// triedInVain says whether a job that was not placed tells that there is no
// room for others like it: nothing but want of room kept it.
func (m *Manager) triedInVain(j *Job) bool {
	return !j.Placed && !j.block && !m.bound(j) && !m.held(j)
}

// arrived reports a job that came to wait here.
func (m *Manager) arrived(j *Job, isNew bool) {
	if isNew {
		m.out.Queued = append(m.out.Queued, *j)
	}
}

// arrivedBehind reports the new jobs from place i of the queue on.
func (m *Manager) arrivedBehind(i int) {
	for _, at := range m.added {
		if at >= i {
			m.out.Queued = append(m.out.Queued, *m.queue[at])
		}
	}
}

// stays says whether a job has gone as far as it may and is to stay where it is.
func (m *Manager) stays(j *Job) bool { return m.rules.StayAtBound && m.bound(j) }

// fits says whether some neighbour's row has room for a job.
func (m *Manager) fits(j *Job) bool {
	n, _ := m.choose(j)
	return n != Here
}

// bound says whether a job has gone as far as it may.
func (m *Manager) bound(j *Job) bool { return m.rules.MaxHops > 0 && j.Hops >= m.rules.MaxHops }

// held says whether the own system is kept for another, older job.
func (m *Manager) held(j *Job) bool { return m.drain != "" && m.drain != j.ID }

// place finds a job a place, if there is one, and says whether the job has gone.
func (m *Manager) place(j *Job) bool {
	if m.rules.ForwardAll && j.from == Here {
		if n := m.parent(); n != Here {
			m.send(n, j)
			return true
		}
	}
	if m.system && m.free.Has(&j.Need) && !m.held(j) {
		m.start(j)
		return true
	}
	if m.rules.ForwardAll {
		return false
	}
	if j.Placed {
		return m.walk(j)
	}
	if n := m.parent(); m.pools() && n != Here {
		m.send(n, j)
		return true
	}
	if m.bound(j) {
		return !m.rules.StayAtBound && m.settle(j)
	}
	n, _ := m.choose(j)
	if n == Here {
		return false
	}
	if m.rules.Mark != MarkNone {
		m.links[n].take(&j.Need)
	}
	m.send(n, j)
	return true
}

// pools says whether waiting jobs are handed over to the domain above.
func (m *Manager) pools() bool { return m.rules.Pool && m.system }

func (m *Manager) start(j *Job) {
	m.free = m.free.Less(j.Need)
	if m.drain == j.ID {
		m.drain, m.inc = "", true
	}
	m.out.Starts = append(m.out.Starts, Assignment{Job: *j})
}

func (m *Manager) send(n Neighbour, j *Job) {
	m.links[n].count(&j.Need, m.rules.Mark == MarkAck && !j.Placed)
	out := *j
	out.Hops++
	out.from, out.block = Here, false
	m.out.Sends = append(m.out.Sends, Send{To: n, Message: Message{Job: &out}})
}

// choose returns the neighbour that a job goes to and the amount in its row
// that decided: the smallest that fits (or the largest, by the rules), children
// before the parent, the earlier child first.
func (m *Manager) choose(j *Job) (n Neighbour, at int) {
	n = Here
	for _, role := range []Role{Child, Parent} {
		for i := range m.links {
			l := &m.links[i]
			if l.role != role || !l.up || j.block && j.from == Neighbour(i) {
				continue
			}
			k := l.choose(&j.Need, &m.rules)
			if k >= 0 && (n == Here || m.preferred(&l.rooms[k], &m.links[n].rooms[at])) {
				n, at = Neighbour(i), k
			}
		}
	}
	return n, at
}

// preferred says whether a job takes amount a rather than b.
func (m *Manager) preferred(a, b *Resources) bool {
	c := compare(a, b)
	return c < 0 && !m.rules.Worst || c > 0 && m.rules.Worst
}

func (m *Manager) parent() Neighbour {
	for i := range m.links {
		if m.links[i].role == Parent && m.links[i].up {
			return Neighbour(i)
		}
	}
	return Here
}
