package batch

import "time"

// Size is a job that might be submitted.
type Size struct {
	Procs, Nodes int
	Memory       int64 // MB per processor
	Disk         int64 // MB per node
	GPUs         int   // per node
	Queue        string
	Features     []string
	Exclusive    bool
	User         string
	Group        string
	Account      string
	QOS          string
	Reservation  string        // to be run in, by name
	Limit        time.Duration // wall time asked for; 0: Duration
	Duration     time.Duration // believed run time; 0: what the forecaster believes
}

// job is the job of this size, submitted at a time.
func (s Size) job(at time.Time) Job {
	j := Job{
		ID: "\x00asked", User: s.User, Group: s.Group, Account: s.Account, QOS: s.QOS, Queue: s.Queue, Procs: max(1, s.Procs), Nodes: s.Nodes,
		Memory: s.Memory, Disk: s.Disk, GPUs: s.GPUs, Features: s.Features, Exclusive: s.Exclusive, Reservation: s.Reservation,
		Requested: s.Limit, Submitted: at,
	}
	if j.Requested == 0 {
		j.Requested = s.Duration
	}
	return j
}

// Earliest says when a job of each size would start if it were submitted now,
// by the policy and within the limits that hold for it; zero: never, for which
// Ask has the reason. It costs a run of the schedule up to that start for each.
func (f *Forecast) Earliest(sizes []Size) []time.Time {
	list := make([]time.Time, len(sizes))
	for i, s := range sizes {
		e, _ := f.Ask(s.job(f.At), s.Duration)
		list[i] = e.Start
	}
	return list
}

// Ask says what would become of a job submitted at the time of the forecast
// that ran for run (0: as long as is believed of it): when and where it would
// start, or why it would not, where the Refusal's Cause is not "".
func (f *Forecast) Ask(j Job, run time.Duration) (Expected, Refusal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, id, leave, why := f.enter(j)
	defer leave()
	if why.Cause != "" {
		return Expected{}, why
	}
	return f.await(c, id, run)
}

// Admitted tells whether a job may use what a reservation keeps from others: Slots
// do not show that as free.
func (f *Forecast) Admitted(j Job) bool {
	f.mu.Lock() // others may ask now, of the same cluster
	defer f.mu.Unlock()
	return f.c.state.access(&j, f.c.now) > 0
}

// enter puts a job into the queue of a copy of the cluster; leave takes it out
// of what the copy shares.
func (f *Forecast) enter(j Job) (into *cluster, id int32, leave func(), why Refusal) {
	c := f.c
	j.Submitted, j.Started, j.Placed = f.At, time.Time{}, nil
	if why := f.asked(&j); why.Cause != "" {
		return nil, 0, func() {}, why.of(j.ID)
	}
	machine, jobs, at := c.Machine, c.state.Jobs, c.at
	if f.paper == nil { // what lies behind the lists may be others'
		jobs, at = jobs[:len(jobs):len(jobs)], at[:len(at):len(at)]
	}
	leave = func() { c.Machine, c.state.Jobs, c.at = machine, jobs, at }
	if c.state.limited(&j) || len(j.After) > 0 || c.shapes(&j) {
		fresh, err := with(c, j)
		if err != nil {
			return nil, 0, leave, refuse(NoRoom, "%v", err).of(j.ID)
		}
		if last := fresh.at[len(fresh.at)-1]; last >= 0 {
			return fresh, last, leave, Refusal{}
		}
		return nil, 0, leave, fresh.refuse[len(fresh.refuse)-1]
	}
	c.Machine = machine.clone(f.paper.machine())
	c.state.Jobs, c.at = append(jobs, j), append(at, -1)
	id = c.stand(len(jobs))
	c.arrive(id)
	return c, id, leave, Refusal{}
}

// with is the cluster with one more job, its last, set up anew.
func with(c *cluster, j Job) (*cluster, error) {
	s := c.state.copy()
	s.Jobs = append(s.Jobs, j)
	return newCluster(s, c.rules, c.users, false)
}

// await runs the schedule until a job starts.
func (f *Forecast) await(c *cluster, id int32, run time.Duration) (Expected, Refusal) {
	seq, name, place := c.jobs[id].seq, c.state.Jobs[c.jobs[id].ID].ID, c.jobs[id].ID
	ahead := glimpse(c.Machine, asking{f.f.belief(), int64(run / time.Second), place}, f.paper.last(), 0)
	f.paper.keep(ahead)
	for k, ok := ahead.next(); ok; k, ok = ahead.next() {
		if k.seq == seq {
			return f.f.expected(c, k, ahead.end(k, 0)), Refusal{}
		}
	}
	for place := range ahead.m.jobs {
		if k := &ahead.m.jobs[place]; k.seq == seq && (k.state == queued || k.state == stuck) {
			return Expected{}, c.stranded(ahead.m, int32(place)).of(name)
		}
	}
	return Expected{}, refuse(NoRoom, "it does not start").of(name)
}

// asked says why a job could not be submitted.
func (f *Forecast) asked(j *Job) verdict {
	q, i := f.c.state.queue(j.Queue)
	switch {
	case i < 0 && j.Queue != "" && len(f.c.state.Queues) > 0:
		return refuse(Closed, "there is no queue %s", j.Queue)
	case q.Draining:
		return refuse(Closed, "queue %s takes no more jobs", q.Name)
	}
	return f.c.refused(j)
}

// asking believes what the asker says of the job asked about.
type asking struct {
	Belief
	run, id int64
}

// Run implements Belief.
func (a asking) Run(t *Task, elapsed int64) int64 {
	if a.run > 0 && t.ID == a.id {
		return max(a.run, elapsed+1)
	}
	return a.Belief.Run(t, elapsed)
}
