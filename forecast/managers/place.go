package managers

// settle sends a job that has gone far, or waited long, to a system that could
// run it when empty, to wait there. It says whether the job has left.
func (m *Manager) settle(j *Job) bool {
	j.Placed = true
	return m.walk(j)
}

// walk moves a placed job one step towards a system that could run it.
func (m *Manager) walk(j *Job) bool {
	if m.system && m.total.Has(&j.Need) {
		return false
	}
	back := Here
	for _, role := range []Role{Child, Parent} {
		for i := range m.links {
			l := &m.links[i]
			if l.role != role || !l.up || l.whole.smallest(&j.Need) < 0 {
				continue
			}
			if j.from == Neighbour(i) {
				back = j.from
				continue
			}
			m.send(Neighbour(i), j)
			return true
		}
	}
	if back == Here {
		return false
	}
	m.send(back, j)
	return true
}

// Possible says whether some system of the tree could run a job when empty, as far as is known here.
func (m *Manager) Possible(need Resources) bool {
	if m.system && m.total.Has(&need) {
		return true
	}
	for i := range m.links {
		if m.links[i].up && m.links[i].whole.smallest(&need) >= 0 {
			return true
		}
	}
	return false
}

// age drains the own system for the first job that has waited too long. What is
// drained is told to nobody. At a domain such a job is sent to a system that could run it.
func (m *Manager) age(now int64) {
	if m.rules.MaxAge <= 0 {
		return
	}
	for _, j := range m.queue {
		old := j.Submitted + m.rules.MaxAge
		if now < old {
			m.later(old)
			continue
		}
		if !j.Placed {
			j.Placed, m.inc = true, true
		}
		if m.drain == "" && m.system && m.total.Has(&j.Need) {
			m.drain, m.inc = j.ID, true
		}
	}
}
