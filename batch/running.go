package batch

import (
	"cmp"
	"slices"
)

// runs lists the running jobs in the order in which they are put on nodes: first those of
// which it is known where they are. Where more runs on a node than it has processors, as
// Slurm's OverSubscribe lets it, those that end last are before the others, so that they hold
// the node until then.
func (c *cluster) runs() []int {
	s := &c.state
	var known, others []int
	free := make(map[string]int, len(s.Nodes))
	for i := range s.Nodes {
		free[s.Nodes[i].Name] = s.Nodes[i].CPUs
	}
	over := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		switch {
		case j.Started.IsZero():
		case len(j.Placed) == 0:
			others = append(others, i)
		default:
			known = append(known, i)
			for _, p := range j.Placed {
				left, there := free[p.Node]
				free[p.Node] = left - p.Procs
				over = over || there && left < p.Procs
			}
		}
	}
	if c.rules.Name == "slurm" {
		slices.SortStableFunc(known, s.madeFirst)
	}
	if over {
		ends := func(i int) int64 { return s.Jobs[i].Started.Unix() + c.limit(&s.Jobs[i]) }
		slices.SortStableFunc(known, func(a, b int) int { return cmp.Compare(ends(b), ends(a)) })
	}
	return append(known, others...)
}

// madeFirst orders jobs as Slurm has made them: on submission, a task of an array when it starts.
func (s *State) madeFirst(a, b int) int {
	made := func(j *Job) int64 {
		if j.Array != "" {
			return j.Started.Unix()
		}
		return j.Submitted.Unix()
	}
	return cmp.Or(cmp.Compare(made(&s.Jobs[a]), made(&s.Jobs[b])), compareIDs(s.Jobs[a].ID, s.Jobs[b].ID))
}

// run puts a running job on the machine.
func (c *cluster) run(i int) {
	t := c.task(i)
	t.Priority = c.weight(i, t.Submit)
	start := min(c.state.Jobs[i].Started.Unix(), c.now)
	t.Limit = outrun(t.Limit, c.now-start)
	id := c.place()
	c.begun++
	c.busy++
	c.at[i] = id
	c.jobs[id] = job{Task: t, seq: number(c, i), limit: t.Limit, procs: int32(t.Procs), state: running, start: start, order: c.begun}
	j := &c.jobs[id]
	c.caps.begun(j)
	if q := c.queues.of(t.Queue); q != nil {
		q.active++
	}
	if s := &c.state.Jobs[i]; s.Paused && len(s.Placed) > 0 && c.policy.halted(c.Machine, id, c.nodes.on(s.Placed)) {
		return
	}
	if c.state.Jobs[i].Suspended {
		suspend(c, j, c.state.Jobs[i].Placed)
		return
	}
	c.put(j, c.state.Jobs[i].Placed)
}

// on are the parts of the nodes that are up of some placements.
func (u *upNodes) on(placed []Placement) (list []share) {
	for _, p := range placed {
		if i, ok := u.find(p.Node); ok {
			list = append(list, share{int32(i), int32(p.Procs)})
		}
	}
	return list
}

// suspend holds what a suspended job keeps: no processor. Nobody has it give way.
func suspend(c *cluster, j *job, placed []Placement) {
	j.procs, j.standing = 0, nil
	for _, s := range c.nodes.on(placed) {
		j.shares = append(j.shares, share{node: s.node})
	}
	if plan, byNode := c.plan.(*nodePlan); byNode {
		plan.hold(j, c.now, j.start+j.limit, j.shares)
	}
}

// put holds what a running job has, where it is known to have it. Parts on
// nodes that are not up, or that have no room left, are no part of the plan.
func (c *cluster) put(j *job, placed []Placement) {
	plan, byNode := c.plan.(*nodePlan)
	if len(placed) > 0 {
		known := int32(0)
		for _, p := range placed {
			i, ok := c.nodes.find(p.Node)
			if !ok {
				continue
			}
			procs := int32(p.Procs)
			if byNode {
				if room := plan.nodes[i].spare(c.now); room < procs {
					procs, c.crowded = room, true
				}
			}
			j.shares = append(j.shares, share{int32(i), procs})
			known += procs
		}
		j.procs = known
	}
	end := j.start + j.limit
	if byNode && len(placed) > 0 {
		plan.hold(j, c.now, end, j.shares)
		return
	}
	c.plan.occupy(j, c.now, end)
}
