package maui

import (
	"cmp"
	"slices"
)

// suspension is how long a suspended job stays so at least, in seconds.
const suspension = 10

// victim is a running job that may be suspended.
type victim struct {
	j    *job
	cost int64
}

// selectNodes lists the nodes on which a job could start now, in the order in
// which they are allocated from the end; false: there are not enough. Where
// preempting is allowed running jobs of lower priority may be suspended for it; who
// does not start the job then takes that back.
func (r *run) selectNodes(j *job, p *part, among []placed, preempt bool) ([]placed, bool) {
	list, idle, enough := r.idleNodes(j, p, among)
	if enough {
		return list, true
	}
	if !preempt && !j.preemptor {
		return nil, false
	}
	return r.preempt(j, p, list, idle)
}

// preempt makes room for a job by suspending running ones of lower priority
// that may be: those with the least priority by processor first. Only
// PREEMPTPOLICY SUSPEND can be done over WIKI.
func (r *run) preempt(j *job, p *part, list []placed, idle int64) ([]placed, bool) {
	if r.Config.Preempt != "SUSPEND" {
		return nil, false
	}
	victims, total := r.victims(j, p)
	if idle+total < j.Tasks {
		return nil, false
	}
	missing := j.Tasks - idle
	for _, v := range victims {
		if missing <= 0 {
			break
		}
		taken := r.inOrder(v.j.placed)
		for i := range taken {
			taken[i].tasks = r.gain(j, v.j, taken[i])
			missing -= taken[i].tasks
		}
		r.suspend(v.j)
		list = append(slices.DeleteFunc(taken, func(t placed) bool { return t.tasks == 0 }), list...)
	}
	return list, missing <= 0
}

// inOrder is a list in the order of the nodes.
func (r *run) inOrder(list []placed) []placed {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.node.at, b.node.at) })
	return list
}

// gain is for how many tasks of a job more a node has room once another job there
// is suspended: at most as many as the other has there.
func (r *run) gain(j, other *job, t placed) int64 {
	n := t.node
	alone := func(o *job) bool {
		return o != other && (j.only || r.Config.Access == "SINGLEUSER" && o.User != j.User)
	}
	kept := func(standing int) bool { return !r.admits(standing, j) }
	if slices.ContainsFunc(n.running, alone) || slices.ContainsFunc(n.standing, kept) || !r.feasible(j, n) {
		return 0
	}
	free, used, part := n.have, n.used, r.part(other, t)
	free.slots, used.slots, part.slots = n.slots(j.Class), 0, 0
	free.add(used, -1)
	more := free
	more.add(part, 1)
	return min(t.tasks, more.fits(j.each)-free.fits(j.each))
}

// victims lists the jobs that may be suspended for another, and the tasks that
// would come free.
func (r *run) victims(j *job, p *part) (list []victim, tasks int64) {
	for _, v := range r.jobs {
		if v.State != JobRunning || !v.preemptee || v.priority >= j.priority || v.Started == r.now && v.placed == nil {
			continue
		}
		freed := int64(0)
		for _, t := range v.placed {
			if slices.Contains(p.nodes, t.node) {
				freed += r.gain(j, v, t)
			}
		}
		if freed > 0 {
			list, tasks = append(list, victim{v, v.priority / freed}), tasks+freed
		}
	}
	slices.SortStableFunc(list, func(a, b victim) int { return cmp.Compare(a.cost, b.cost) })
	return list, tasks
}

// moved is a job that was suspended for the one that is being placed, and what
// was otherwise before.
type moved struct {
	j        *job
	earliest int64
	busy     []*node
}

// suspend suspends a running job.
func (r *run) suspend(j *job) {
	m := moved{j: j, earliest: j.earliest}
	r.actions = append(r.actions, Action{Verb: "SUSPENDJOB", Job: j.ID})
	r.active.add(r.credentials(j), r.consumption(j), -1)
	for _, t := range j.placed {
		t.node.unhold(j)
		t.node.used.add(r.part(j, t), -1)
		t.node.running = slices.DeleteFunc(t.node.running, func(o *job) bool { return o == j })
		if t.node.State == NodeBusy {
			t.node.State = NodeRunning
			m.busy = append(m.busy, t.node)
		}
	}
	j.State, j.earliest, r.sums = JobSuspended, r.now+suspension, nil
	r.moved = append(r.moved, m)
}

// takeBack lets the jobs run on that were suspended for one that does not start
// after all.
func (r *run) takeBack() {
	for _, m := range slices.Backward(r.moved) {
		j := m.j
		j.State, j.earliest = JobRunning, m.earliest
		for _, t := range j.placed {
			part := r.part(j, t)
			t.node.hold(held{from: j.Started, to: max(j.Started+j.limit, r.now+1), amount: part, job: j})
			t.node.used.add(part, 1)
			t.node.running = append(t.node.running, j)
		}
		for _, n := range m.busy {
			n.State = NodeBusy
		}
		r.active.add(r.credentials(j), r.consumption(j), 1)
		r.sums = nil
	}
	r.actions = r.actions[:len(r.actions)-len(r.moved)]
	r.moved = nil
}

// resume wakes suspended jobs whose own nodes have room again.
func (r *run) resume(list []*job) {
	for _, j := range list {
		if j.State != JobSuspended {
			continue
		}
		tasks := r.tasks(j.TaskList)
		found, _, ok := r.idleNodes(j, nil, tasks)
		crowded := func(t placed) bool {
			return !slices.ContainsFunc(found, func(f placed) bool { return f.node == t.node && f.tasks >= t.tasks })
		}
		if len(tasks) == 0 || !ok || slices.ContainsFunc(tasks, crowded) {
			continue
		}
		r.actions = append(r.actions, Action{Verb: "RESUMEJOB", Job: j.ID})
		j.State = JobRunning
		r.place(j, tasks)
		r.active.add(r.credentials(j), r.consumption(j), 1)
	}
}
