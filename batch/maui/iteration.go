package maui

import (
	"cmp"
	"slices"
)

// run is one iteration of a Scheduler: it walks the queue in order of
// priority, and starts, suspends, resumes and cancels jobs.
type run struct {
	*cluster
	*planner
	*limits
	*desk
	*choice
	actions []Action
	moved   []moved // for the job that is being placed; the last actions
}

// newRun takes in what the resource manager said.
func newRun(s *Scheduler, now int64, nodes []Node, jobs []Job) *run {
	c := &cluster{Scheduler: s, now: now}
	c.setNodes(nodes)
	c.setJobs(jobs)
	p := &planner{cluster: c}
	for _, j := range c.jobs {
		if j.State == JobRunning {
			p.place(j, c.tasks(j.TaskList))
		}
	}
	l := newLimits(c)
	d := &desk{planner: p}
	return &run{cluster: c, planner: p, limits: l, desk: d, choice: &choice{cluster: c, limits: l, desk: d}}
}

// Iterate is one scheduling iteration at a time (seconds since the epoch): the
// resource manager has been asked for its nodes and jobs, in its order; the
// answer is what it is told to do, in order.
func (s *Scheduler) Iterate(now int64, nodes []Node, jobs []Job) []Action {
	r := newRun(s, now, nodes, jobs)
	s.account(r.cluster)
	r.overrun()
	r.active = r.usage()
	(&ranking{r.cluster, r.limits}).prioritize()
	hard := r.selectAll(true)
	soft := r.selectAll(false)
	first := r.selectJobs(hard, selection{hard: true, whole: true})
	r.resume(first)
	r.startReserved(first)
	current := r.selectJobs(soft, selection{whole: true})
	for _, backfill := range []bool{false, true} {
		r.walkAll(current, backfill)
	}
	r.backfillHard(hard)
	r.remember()
	s.latest = r
	return r.actions
}

// walkAll walks every partition in order of priority; in the second round what
// is left is backfilled under soft limits.
func (r *run) walkAll(current []*job, backfill bool) {
	for i := range r.parts {
		p := &r.parts[i]
		list := r.selectJobs(current, selection{whole: true, part: p, home: !backfill})
		if len(list) == 0 {
			continue
		}
		r.walk(list, p)
		if backfill && r.Config.Backfill != "NONE" {
			r.backfill(list, p, false)
		}
	}
}

// backfillHard is the last pass: backfill under hard limits.
func (r *run) backfillHard(hard []*job) {
	current := r.selectJobs(hard, selection{hard: true, whole: true})
	for i := range r.parts {
		p := &r.parts[i]
		list := r.selectJobs(current, selection{hard: true, whole: true, part: p})
		if len(list) > 0 && r.Config.Backfill != "NONE" {
			r.backfill(list, p, true)
		}
	}
}

// walk starts jobs in order of priority. One that does not fit is given a
// reservation while its bucket has any left; after the first that gets none,
// only reservations are tried, and one that would begin now is a start.
func (r *run) walk(list []*job, p *part) {
	reached := false
	r.counted = make([]int, len(r.Config.Buckets))
	for _, j := range list {
		if j.State != JobIdle {
			continue
		}
		if j.reserved != nil && j.reserved.from > r.now {
			if b := r.bucket(j); b >= 0 {
				r.counted[b]++
			}
			continue
		}
		if reached {
			if !r.within(j, false, limitsActive) || !r.reserve(j) || j.reserved.from > r.now {
				continue
			}
		}
		if r.within(j, false, limitsActive) {
			list, ok := r.selectNodes(j, p, nil, r.Config.Backfill == "PREEMPT")
			if ok && r.tryStart(j, list) {
				continue
			}
			if r.takeBack(); ok {
				j.earliest = r.now + 1
			}
		}
		if !r.reserve(j) {
			reached = true
		}
	}
}

// tryStart allocates nodes of the list to a job and starts it.
func (r *run) tryStart(j *job, list []placed) bool {
	tasks, ok := r.allocate(j, list, r.now)
	if !ok {
		return false
	}
	if tasks, ok = distribute(j, tasks); !ok {
		return false
	}
	r.start(j, tasks)
	return true
}

// start starts a job.
func (r *run) start(j *job, tasks []placed) {
	r.release(j)
	r.moved = nil
	a := Action{Verb: "STARTJOB", Job: j.ID, TaskList: taskNames(tasks)}
	r.actions = append(r.actions, a)
	j.State, j.Started = JobRunning, r.now
	j.TaskList, j.ours = a.TaskList, true
	r.place(j, tasks)
	r.active.add(r.credentials(j), r.consumption(j), 1)
}

// taskNames writes one node name per task.
func taskNames(tasks []placed) (list []string) {
	for _, t := range tasks {
		for range t.tasks {
			list = append(list, t.node.Name)
		}
	}
	return list
}

// overrun cancels jobs that are past their limit by more than is allowed.
func (r *run) overrun() {
	if r.Config.Overrun < 0 {
		return
	}
	for _, j := range r.jobs {
		if j.State == JobRunning && r.now-j.Started > j.Limit+r.Config.Overrun {
			r.actions = append(r.actions, Action{Verb: "CANCELJOB", Job: j.ID, Type: "WALLCLOCK"})
		}
	}
}

// remember keeps what the next iteration needs and forgets jobs that are gone.
func (r *run) remember() {
	r.Scheduler.last = r.now
	r.reservations = r.reservations[:0]
	for _, j := range r.jobs {
		if j.reserved == nil || j.State != JobIdle {
			j.wanted = false
			continue
		}
		r.reservations = append(r.reservations, Reservation{
			Job: j.ID, From: j.reserved.from, To: j.reserved.from + j.limit, TaskList: taskNames(j.reserved.tasks),
		})
	}
	slices.SortStableFunc(r.reservations, func(a, b Reservation) int { return cmp.Compare(a.From, b.From) })
	for id, m := range r.known {
		if m.seen != r.now {
			delete(r.known, id)
		}
	}
}

// startReserved renews the reservations of the last iteration by
// RESERVATIONPOLICY and starts those that are due.
func (r *run) startReserved(list []*job) {
	for _, j := range list {
		if j.State != JobIdle {
			continue
		}
		always := slices.Contains(j.qos.Flags, "RESERVEALWAYS") || slices.Contains(j.qos.Flags, "RESERVED")
		if !always && (!j.wanted || r.Config.ReservationPolicy != "HIGHEST") {
			continue
		}
		if !r.keep(j) || j.reserved.from > r.now {
			continue
		}
		if !r.within(j, false, limitsActive) {
			r.deferJob(j)
			continue
		}
		for i := range r.parts {
			p := &r.parts[i]
			if found, ok := r.selectNodes(j, p, nil, j.preemptor); ok && j.mayUse(p) && r.tryStart(j, found) {
				break
			}
			r.takeBack()
		}
	}
}
