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
// preempting is allowed running jobs of lower priority may be suspended for it.
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
		taken := r.suspend(v.j)
		for _, t := range taken {
			missing -= t.tasks
		}
		list = append(taken, list...)
	}
	return list, missing <= 0
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
			if slices.Contains(p.nodes, t.node) && r.feasible(j, t.node) {
				freed += t.tasks
			}
		}
		if freed > 0 {
			list, tasks = append(list, victim{v, v.priority / freed}), tasks+freed
		}
	}
	slices.SortStableFunc(list, func(a, b victim) int { return cmp.Compare(a.cost, b.cost) })
	return list, tasks
}

// suspend suspends a running job and returns its nodes, in the order of the
// nodes.
func (r *run) suspend(j *job) []placed {
	r.actions = append(r.actions, Action{Verb: "SUSPENDJOB", Job: j.ID})
	r.active.add(r.credentials(j), r.consumption(j), -1)
	for _, t := range j.placed {
		t.node.unhold(j)
		t.node.used.add(r.part(j, t), -1)
		t.node.running = slices.DeleteFunc(t.node.running, func(o *job) bool { return o == j })
		if t.node.State == NodeBusy {
			t.node.State = NodeRunning
		}
	}
	j.State, j.earliest, r.sums = JobSuspended, r.now+suspension, nil
	taken := slices.Clone(j.placed)
	slices.SortFunc(taken, func(a, b placed) int { return cmp.Compare(a.node.at, b.node.at) })
	return taken
}

// resume wakes suspended jobs whose own nodes have room again.
func (r *run) resume(list []*job) {
	for _, j := range list {
		if j.State != JobSuspended {
			continue
		}
		tasks := r.tasks(j.TaskList)
		found, _, ok := r.idleNodes(j, nil, tasks)
		if len(tasks) == 0 || !ok || len(found) < len(tasks) {
			continue
		}
		r.actions = append(r.actions, Action{Verb: "RESUMEJOB", Job: j.ID})
		j.State = JobRunning
		r.place(j, tasks)
		r.active.add(r.credentials(j), r.consumption(j), 1)
	}
}
