package batch

import "slices"

// throttle holds back the jobs of a queue that may run only so many at once:
// as many as still may start stand before the policy, in order of priority,
// the others are parked, with its place among them as each job's key.
type throttle struct {
	most   int // jobs running at once; 0: no limit
	active int // jobs running or before the policy
	parked waiting
}

// throttles are those of the queues, by place.
type throttles []throttle

// clone copies the throttles.
func (list throttles) clone() throttles {
	c := slices.Clone(list)
	for i := range c {
		c[i].parked = list[i].parked.clone(waiting{})
	}
	return c
}

// of is the throttle of a queue, or nil.
func (list throttles) of(queue int) *throttle {
	if queue < 0 || queue >= len(list) || list[queue].most == 0 {
		return nil
	}
	return &list[queue]
}

// park parks a job where so many of its queue run that it may not; else it
// counts as one of these.
func (list throttles) park(id int32, j *job) bool {
	t := list.of(j.Queue)
	if t == nil {
		return false
	}
	if t.active >= t.most {
		t.parked.insert(j.entry(id))
		return true
	}
	t.active++
	return false
}

// parks tells whether a job is parked.
func (list throttles) parks(id int32, j *job) bool {
	t := list.of(j.Queue)
	if t == nil {
		return false
	}
	_, ok := t.parked.find(j.entry(id))
	return ok
}

// unpark takes a job out of the parked ones; false: it is not parked.
func (list throttles) unpark(id int32, j *job) bool {
	t := list.of(j.Queue)
	return t != nil && t.parked.remove(j.entry(id))
}

// release takes the next parked job of a queue out for one that is gone; false:
// there is none.
func (list throttles) release(queue int) (id int32, ok bool) {
	t := list.of(queue)
	if t == nil {
		return 0, false
	}
	t.active--
	e, ok := t.parked.head()
	if !ok || t.active >= t.most {
		return 0, false
	}
	t.parked.remove(e)
	t.active++
	return e.job, true
}

// busy tells whether any job is parked.
func (list throttles) busy() bool {
	return slices.ContainsFunc(list, func(t throttle) bool { return t.parked.n > 0 })
}
