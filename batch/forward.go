package batch

import "iter"

// forward runs a copy of the machine on its own, nothing arriving, with every
// job taking as long as believed, and yields each waiting job as it starts,
// in order of start. The policy still plans with the limits.
func (m *Machine) forward(b Belief) iter.Seq[*job] {
	return func(yield func(*job) bool) {
		c := m.Clone()
		var ends agenda
		for id := range c.jobs {
			if j := &c.jobs[id]; j.state == running {
				ends.push(due{j.start + b.Run(&j.Task, c.now-j.start), j.order, int32(id)})
			}
		}
		for {
			t := c.next()
			if len(ends) > 0 && ends[0].at <= t {
				e := ends.pop()
				c.end(e.at, e.job)
			} else if t < never {
				c.wake(t)
			} else {
				return
			}
			for _, id := range c.started() {
				j := &c.jobs[id]
				ends.push(due{j.start + b.Run(&j.Task, 0), j.order, id})
				if !yield(j) {
					return
				}
			}
		}
	}
}

// foretell says when a waiting job will start if nothing more arrives; never
// where it does not.
func (m *Machine) foretell(id int32, b Belief) int64 {
	seq := m.jobs[id].seq
	for j := range m.forward(b) {
		if j.seq == seq {
			return j.start
		}
	}
	return never
}
