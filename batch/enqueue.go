package batch

import (
	"cmp"
	"slices"
)

// enqueue puts the waiting jobs in the queue, in order of priority, then of
// submission, without letting the policy start any yet.
func (c *cluster) enqueue() {
	var waiting []int
	for i := range c.state.Jobs {
		j := &c.state.Jobs[i]
		if !j.Started.IsZero() {
			continue
		}
		if why := c.refused(j); why.Cause != "" {
			c.refuse = append(c.refuse, why.of(j.ID))
			continue
		}
		waiting = append(waiting, i)
	}
	slices.SortStableFunc(waiting, func(a, b int) int {
		if c.rules.Name == "slurm" { // of equal priority by number
			return compareIDs(c.state.Jobs[a].ID, c.state.Jobs[b].ID)
		}
		return cmp.Compare(c.state.Jobs[a].Submitted.Unix(), c.state.Jobs[b].Submitted.Unix())
	})
	ids := make([]int32, len(waiting))
	for i, at := range waiting {
		ids[i] = c.stand(at)
	}
	for _, id := range ids {
		c.jobs[id].key = -c.policy.priority(&c.jobs[id], c.now)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(c.jobs[a].key, c.jobs[b].key) })
	for _, linked := range []bool{true, false} { // one that is too late may let others in
		for _, id := range ids {
			if linked == (len(c.jobs[id].After) > 0) {
				c.arrive(id)
			}
		}
	}
}

// weight is the cluster's own priority of a job, whose age counts from a time on.
func (c *cluster) weight(i int, since int64) float64 {
	j := &c.state.Jobs[i]
	q, _ := c.state.queue(j.Queue)
	if c.rules.Name == "slurm" {
		p := c.rules.Slurm.Defaults()
		return float64(q.Priority)*tier + p.Multifactor.static(j, &q, c.procs, since, c.now)
	}
	return float64(q.Priority)*tier + j.Priority
}

// join puts one waiting job in the queue.
func (c *cluster) join(i int) { c.arrive(c.stand(i)) }

// stand gives a waiting job its number in order of submission.
func (c *cluster) stand(i int) int32 {
	t := c.task(i)
	c.await(i, &t)
	if t.since = t.Submit; !t.ages && len(t.After) > 0 {
		t.since = max(c.now, t.Begin) // at the soonest
	} else if !t.ages {
		t.since = max(t.Submit, t.Begin)
	}
	t.Priority = c.weight(i, t.since)
	id := c.place()
	c.at[i] = id
	c.jobs[id] = job{Task: t, seq: number(c, i), limit: t.Limit, procs: int32(t.Procs), state: queued}
	c.wait++
	c.gates.bound(id, &c.jobs[id])
	return id
}

// refused says why a waiting job will never start as things are; the Cause is
// "" where it can.
func (c *cluster) refused(j *Job) verdict {
	q, _ := c.state.queue(j.Queue)
	switch {
	case q.MaxProcs > 0 && j.Procs > q.MaxProcs:
		return refuse(OverLimit, "%d processors, queue %s allows %d", j.Procs, q.Name, q.MaxProcs)
	case q.MaxNodes > 0 && j.Nodes > q.MaxNodes:
		return refuse(OverLimit, "%d nodes, queue %s allows %d", j.Nodes, q.Name, q.MaxNodes)
	case q.MaxWallTime > 0 && j.Requested > q.MaxWallTime:
		return refuse(OverLimit, "wall time %s, queue %s allows %s", j.Requested, q.Name, q.MaxWallTime)
	case j.awaits(Never):
		return hopeless()
	case j.Held: // of one that its system will not start for any of these reasons that is not the reason
		return refuse(Held, "held")
	case q.Closed:
		return refuse(Closed, "queue %s is closed", q.Name)
	case j.Unfit != "":
		return refuse(TooLarge, "%s", j.Unfit)
	case j.Procs > c.procs:
		return refuse(TooLarge, "%d processors, %d are up", j.Procs, c.procs)
	}
	if name, most := c.caps.beyond(j); name != "" && c.rules.Name == "slurm" {
		return refuse(OverLimit, "more of %s than the %d that all jobs may have", name, most)
	}
	if why := c.barred(j); why.Cause != "" {
		return why
	}
	if p, ok := c.plan.(*nodePlan); ok && !c.could(p, j) {
		return refuse(TooLarge, "no nodes that are up have what it asks for")
	}
	return verdict{}
}

// could tells whether a job would fit the empty nodes.
func (c *cluster) could(p *nodePlan, j *Job) bool {
	if c.empty == nil {
		c.empty = c.nodes.plan(c.now)
	}
	t, n := job{procs: int32(max(1, j.Procs)), limit: 1}, *c.need(j)
	n.access, n.from, n.to = 0, 0, 0
	t.Need = &n
	return c.empty.fits(&t, c.now)
}

// compareIDs orders job numbers, also of arrays (12_3): as numbers where both
// have some at a place.
func compareIDs(a, b string) int {
	for a != "" && b != "" {
		x, restA := digits(a)
		y, restB := digits(b)
		if x != "" && y != "" {
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			break
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(a, b)
}

// digits cuts the number that a text begins with, without leading zeros.
func digits(s string) (number, rest string) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	first := 0
	for first < n-1 && s[first] == '0' {
		first++
	}
	return s[first:n], s[n:]
}
