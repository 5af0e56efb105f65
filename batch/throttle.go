package batch

// throttle holds back the jobs of a queue that may run only so many at once:
// as many as still may start stand before the policy, in order of priority,
// the others are parked.
type throttle struct {
	most   int // jobs running at once; 0: no limit
	active int // jobs running or before the policy
	parked waiting
}

// throttled returns the throttle of a queue, or nil.
func (m *Machine) throttled(queue int) *throttle {
	if queue < 0 || queue >= len(m.queues) || m.queues[queue].most == 0 {
		return nil
	}
	return &m.queues[queue]
}

// admit brings a waiting job before the policy, or parks it.
func (m *Machine) admit(id int32) {
	j := &m.jobs[id]
	if t := m.throttled(j.Queue); t != nil {
		if t.active >= t.most {
			t.parked.insert(m.parkedAs(id))
			return
		}
		t.active++
	}
	m.policy.enter(m, id)
}

// parkedAs is the entry of a parked job.
func (m *Machine) parkedAs(id int32) entry {
	e := m.jobs[id].entry(id)
	e.key = -m.jobs[id].Priority
	return e
}

// release lets the next parked job of a queue in for one that is gone.
func (m *Machine) release(queue int) {
	t := m.throttled(queue)
	if t == nil {
		return
	}
	t.active--
	if e, ok := t.parked.head(); ok && t.active < t.most {
		t.parked.remove(e)
		t.active++
		m.policy.enter(m, e.job)
	}
}

// unpark takes a job out of the parked ones; false: it is not parked.
func (m *Machine) unpark(id int32) bool {
	t := m.throttled(m.jobs[id].Queue)
	return t != nil && t.parked.remove(m.parkedAs(id))
}
