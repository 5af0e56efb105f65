package batch

import (
	"cmp"
	"fmt"
	"slices"
)

// reserve holds the advance reservations. They keep every job out, their
// users' too; a reservation's own running jobs are not counted twice.
func (c *cluster) reserve() {
	for i, r := range c.state.Reservations {
		from, to := max(r.Start.Unix(), c.now), r.End.Unix()
		if from >= to {
			continue
		}
		j := &job{seq: -int64(i) - 1, procs: int32(min(r.Procs, c.procs)), limit: to - from}
		j.Need = &Need{}
		p, byNode := c.plan.(*nodePlan)
		if !byNode {
			c.plan.occupy(j, from, to)
		} else {
			p.hold(j, from, to, c.reservedOn(p, r, j, from, to))
		}
		c.reserved = true
		c.wakes = append(c.wakes, from, to)
	}
	slices.Sort(c.wakes)
}

// reservedOn is what a reservation takes of nodes: what is not held there by
// running jobs for all of its time.
func (c *cluster) reservedOn(p *nodePlan, r Reservation, j *job, from, to int64) (list []share) {
	if len(r.Nodes) == 0 {
		for i := range p.nodes {
			j.Need.on = append(j.Need.on, int32(i))
		}
		p.choose(j, from, &list)
		return list
	}
	for _, name := range r.Nodes {
		if i, ok := c.node(name); ok {
			if n := p.nodes[i].room(from, to, j.Need); n > 0 {
				list = append(list, share{int32(i), n})
			}
		}
	}
	return list
}

// enqueue puts the waiting jobs in the queue, in order of priority, then of
// submission, without letting the policy start any yet.
func (c *cluster) enqueue() {
	var waiting []int
	for i := range c.state.Jobs {
		j := &c.state.Jobs[i]
		if !j.Started.IsZero() {
			continue
		}
		if why := c.refused(j); why != "" {
			c.refuse = append(c.refuse, Refusal{j.ID, why})
			continue
		}
		waiting = append(waiting, i)
	}
	slices.SortStableFunc(waiting, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(c.weight(b), c.weight(a)),
			c.state.Jobs[a].Submitted.Compare(c.state.Jobs[b].Submitted),
		)
	})
	for _, i := range waiting {
		c.join(i)
	}
}

// weight is the cluster's own priority of a job.
func (c *cluster) weight(i int) float64 {
	j := &c.state.Jobs[i]
	q, _ := c.state.queue(j.Queue)
	return float64(q.Priority)*tier + j.Priority
}

// join puts one waiting job in the queue.
func (c *cluster) join(i int) int32 {
	t := c.task(i)
	id := c.place()
	c.seq++
	c.jobs[id] = job{Task: t, seq: c.seq, limit: t.Limit, procs: int32(t.Procs), state: queued}
	c.wait++
	c.admit(id)
	return id
}

// refused says why a waiting job will never start as things are ("" it can).
func (c *cluster) refused(j *Job) string {
	q, _ := c.state.queue(j.Queue)
	switch {
	case j.Held:
		return "held"
	case q.Closed:
		return fmt.Sprintf("queue %s is closed", q.Name)
	case q.MaxProcs > 0 && j.Procs > q.MaxProcs:
		return fmt.Sprintf("%d processors, queue %s allows %d", j.Procs, q.Name, q.MaxProcs)
	case q.MaxWallTime > 0 && j.Requested > q.MaxWallTime:
		return fmt.Sprintf("wall time %s, queue %s allows %s", j.Requested, q.Name, q.MaxWallTime)
	case j.Procs > c.procs:
		return fmt.Sprintf("%d processors, %d are up", j.Procs, c.procs)
	}
	if p, ok := c.plan.(*nodePlan); ok && !c.could(p, j) {
		return "no nodes that are up have what it asks for"
	}
	return ""
}

// could tells whether a job would fit the empty nodes.
func (c *cluster) could(p *nodePlan, j *Job) bool {
	if c.empty == nil {
		c.empty = newNodePlan(c.now, c.amounts())
	}
	t := job{procs: int32(max(1, j.Procs)), limit: 1}
	t.Need = c.need(j)
	return c.empty.choose(&t, c.now, nil)
}
