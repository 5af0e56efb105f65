package batch

import "time"

// line is the line in which a job waits, from 0: the jobs of queues that are
// served by the same nodes stand in one line, in order of priority; those that
// name a reservation stand in one of their own. Policies that hold jobs up behind
// one that does not fit, or reserve for the first of them, do so line by line. On
// a plain pool there is one line.
func (c *cluster) line(j *Job) int32 {
	if _, byNode := c.plan.(*nodePlan); !byNode {
		return 0
	}
	key := c.nodes.serving(j.Queue)
	if j.Reservation != "" {
		key = "reservation " + j.Reservation
	}
	n := c.order.of(key)
	c.lines = len(c.order.number)
	return int32(n - 1)
}

// await tells a task of the jobs and the time it waits for.
func (c *cluster) await(i int, t *Task) {
	j := &c.state.Jobs[i]
	if !j.Begin.IsZero() {
		t.Begin = j.Begin.Unix()
	}
	for _, d := range j.After {
		other, ok := c.byID(d.ID)
		if !ok || other == i || d.On != OnSuccess && lapsed(c, other) {
			continue
		}
		delay := int64(d.Delay / time.Second)
		if started := c.state.Jobs[other].Started; d.On == OnStart && !started.IsZero() {
			t.Begin = max(t.Begin, started.Unix()+delay)
			continue
		}
		t.After = append(t.After, After{int64(other), d.On == OnStart, d.On == OnSuccess, d.On == OnFailure, delay})
	}
}

// lapsed tells whether a job is gone from the machine as it was too late for it.
func lapsed(c *cluster, i int) bool {
	at := c.at[i]
	return at >= 0 && c.jobs[at].state == stuck && c.jobs[at].Latest > 0 && c.now > c.jobs[at].Latest
}

// byID is the place of a job in the state.
func (c *cluster) byID(id string) (int, bool) {
	if c.ids == nil {
		c.ids = make(map[string]int, len(c.state.Jobs))
		for i := range c.state.Jobs {
			c.ids[c.state.Jobs[i].ID] = i
		}
	}
	i, ok := c.ids[id]
	return i, ok && i < len(c.state.Jobs) && c.state.Jobs[i].ID == id
}
