package batch

// startAs makes a waiting job a running one because the cluster did.
func (c *cluster) startAs(id int32, start int64, placed []Placement) {
	c.policy.left(c.Machine, id)
	c.wait--
	c.busy++
	c.begun++
	j := &c.jobs[id]
	j.state, j.start, j.order, j.shares = running, start, c.begun, nil
	c.caps.begun(j)
	j.limit = outrun(j.limit, c.now-start)
	j.Limit = j.limit
	c.put(j, placed)
}

// outrun is the limit planned with for a job that has run for elapsed seconds:
// its limit, raised by a tenth (a minute at least) as often as needed.
func outrun(limit, elapsed int64) int64 {
	for limit <= elapsed {
		limit += max(60, limit/10)
	}
	return limit
}

// extend plans for a job that has outrun its limit.
func (c *cluster) extend(j *job) {
	j.limit = outrun(j.limit, c.now-j.start)
	j.Limit = j.limit
	if p, ok := c.plan.(*nodePlan); ok {
		p.vacate(j, c.now, c.now)
		for _, s := range j.shares {
			c.crowded = c.crowded || p.nodes[s.node].spare(c.now) < s.procs
		}
		p.hold(j, c.now, j.start+j.limit, j.shares)
		return
	}
	c.plan.occupy(j, c.now, j.start+j.limit)
}
