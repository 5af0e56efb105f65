package batch

import "strings"

// lines numbers the lines in which jobs wait, from 0: the jobs of queues that
// are served by the same nodes stand in one line, in order of priority; those
// that name a reservation stand in one of their own. Policies that hold jobs up
// behind one that does not fit, or reserve for the first of them, do so line by
// line. On a plain pool there is one line.
type lines struct{ number map[string]int32 }

// line is the line of a job.
func (c *cluster) line(j *Job) int32 {
	if _, byNode := c.plan.(*nodePlan); !byNode {
		return 0
	}
	key := c.served(j.Queue)
	if j.Reservation != "" {
		key = "reservation " + j.Reservation
	}
	n, ok := c.order.number[key]
	if !ok {
		if c.order.number == nil {
			c.order.number = map[string]int32{}
		}
		n = int32(len(c.order.number))
		c.order.number[key] = n
		c.lines = len(c.order.number)
	}
	return n
}

// served names the set of nodes that serve a queue: by the nodes that name it,
// "" where all nodes serve it.
func (c *cluster) served(queue string) string {
	if key, ok := c.sets[queue]; ok {
		return key
	}
	var names []string
	for _, at := range c.up {
		if n := &c.state.Nodes[at]; n.serves(&Job{Queue: queue}) {
			names = append(names, n.Name)
		}
	}
	key := "nodes " + strings.Join(names, " ")
	if len(names) == len(c.up) {
		key = ""
	}
	if c.sets == nil {
		c.sets = map[string]string{}
	}
	c.sets[queue] = key
	return key
}

// await tells a task of the jobs and the time it waits for.
func (c *cluster) await(i int, t *Task) {
	j := &c.state.Jobs[i]
	if !j.Begin.IsZero() {
		t.Begin = j.Begin.Unix()
	}
	for _, d := range j.After {
		other, ok := c.byID(d.ID)
		if !ok || other == i || d.On == OnStart && !c.state.Jobs[other].Started.IsZero() {
			continue
		}
		t.After = append(t.After, After{int64(other), d.On == OnStart})
	}
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
