package maui

// Window is what showbf tells: processors that a job may have now for a time.
type Window struct {
	Partition    string
	Nodes, Procs int64
	Span         int64 // seconds; Endless: no end is known
}

// Endless is the span of a window that nothing ends.
const Endless = int64(never)

// Windows are those of the latest iteration: in each partition the shortest
// first, the later ones with the nodes that stay free for longer.
func (s *Scheduler) Windows() (list []Window) {
	r := s.latest
	if r == nil {
		return nil
	}
	for i := range r.parts {
		p := &r.parts[i]
		for last := int64(0); ; {
			nodes, procs, span := r.window(p, last)
			if len(nodes) == 0 || span == 0 {
				break
			}
			last = span
			if span > never/2 {
				span = Endless
			}
			list = append(list, Window{p.name, int64(len(nodes)), procs, span})
		}
	}
	return list
}

// Start is what showstart tells of a job after the latest iteration: when it
// would start at the earliest, beside what runs and is reserved, and where. A
// job with a reservation starts with it; one that runs has started. false: it
// can never start. A job that the scheduler has not seen is asked for by what
// it says itself.
func (s *Scheduler) Start(ask Job) (Reservation, bool) {
	r := s.latest
	if r == nil {
		return Reservation{}, false
	}
	for _, j := range r.jobs {
		if j.ID != ask.ID {
			continue
		}
		switch {
		case j.State == JobRunning:
			return Reservation{j.ID, j.Started, j.Started + j.limit, j.TaskList}, true
		case j.reserved != nil:
			return Reservation{j.ID, j.reserved.from, j.reserved.from + j.limit, taskNames(j.reserved.tasks)}, true
		}
		return r.first(j)
	}
	j := &job{}
	known := r.known[ask.ID]
	r.setJob(j, &ask, len(r.jobs))
	if known == nil {
		delete(r.known, ask.ID)
	}
	return r.first(j)
}

// first finds the first place for a job that has none.
func (r *planner) first(j *job) (Reservation, bool) {
	at, list := int64(never), []placed(nil)
	for i := range r.parts {
		if p := &r.parts[i]; j.mayUse(p) && p.procs >= j.procs {
			if t, l := r.earliest(j, p, at); t < at {
				at, list = t, l
			}
		}
	}
	if at == never {
		return Reservation{}, false
	}
	tasks, ok := r.allocate(j, list, at)
	if ok {
		tasks, ok = distribute(j, tasks)
	}
	return Reservation{j.ID, at, at + planned(j.Limit, tasks), taskNames(tasks)}, ok
}
