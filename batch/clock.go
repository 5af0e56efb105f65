package batch

// clock steps a machine whose running jobs are known to end at some time:
// replays, forecasts and engines all go by it. What happens at one instant does
// so in the order that Machine states.
type clock struct {
	m    *Machine
	ends agenda // of running jobs, by order of start; some out of date, see current
}

// next is when something happens next of itself, or never.
func (c *clock) next() int64 {
	for len(c.ends) > 0 && !c.current(c.ends[0]) {
		c.ends.pop()
	}
	if at := c.m.next(); len(c.ends) == 0 || at < c.ends[0].at {
		return at
	}
	return c.ends[0].at
}

// current tells whether an end is still to come: the job may have been ended,
// and its place given to another.
func (c *clock) current(d due) bool {
	j := &c.m.jobs[d.job]
	return j.state == running && j.paused == nil && (j.order == d.ticket || d.ticket < 0 && !j.again)
}

// ending is the job that ends next, -1 where the machine is woken before.
func (c *clock) ending() int32 {
	if at := c.next(); len(c.ends) == 0 || c.ends[0].at > at {
		return -1
	}
	return c.ends[0].job
}

// step lets the next thing happen; there is one.
func (c *clock) step() {
	if at := c.next(); len(c.ends) > 0 && c.ends[0].at <= at {
		d := c.ends.pop()
		c.m.end(d.at, d.job)
	} else {
		c.m.wake(at)
	}
}
