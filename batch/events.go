package batch

import (
	"fmt"
	"slices"
	"time"
)

// submit takes in a job that was submitted at j.Submitted.
func (l *Live) submit(j Job) error {
	switch {
	case j.ID == "":
		return fmt.Errorf("a job without an ID was submitted")
	case !j.Started.IsZero():
		return fmt.Errorf("job %s is submitted and has started", j.ID)
	}
	if _, ok := l.index[j.ID]; ok {
		return fmt.Errorf("job %s is there already", j.ID)
	}
	l.advance(j.Submitted, -1)
	l.touch()
	i := len(l.c.state.Jobs)
	l.c.state.Jobs, l.c.at = append(l.c.state.Jobs, j), append(l.c.at, -1)
	l.index[j.ID] = i
	switch c := l.c; {
	case l.stale:
	case c.shapes(&j), j.Submitted.Unix() < c.now, c.state.limited(&j), len(j.After) > 0, i > 2*len(l.index)+1024:
		l.stale = true // late, of a new kind, or too much is past
	default:
		if why := c.refused(&j); why.Cause != "" {
			c.refuse = append(c.refuse, why.of(j.ID))
			l.shape(&j)
			return nil
		}
		c.join(i)
		l.shape(&j)
	}
	return nil
}

// shapes tells whether a job needs a plan by nodes where there is none.
func (c *cluster) shapes(j *Job) bool {
	_, byNode := c.plan.(*nodePlan)
	s := State{Now: c.state.Now, Jobs: []Job{*j}, Reservations: c.state.Reservations}
	return !byNode && (j.placed() || s.shared())
}

// limited tells whether the queue or the array of a job lets only so many run.
func (s *State) limited(j *Job) bool {
	q, _ := s.queue(j.Queue)
	return q.MaxRunning > 0 || j.ArrayLimit > 0
}

// start takes in that a waiting job was started at a time; placed may be empty.
func (l *Live) start(id string, at time.Time, placed []Placement) error {
	i, ok := l.index[id]
	switch {
	case !ok:
		return fmt.Errorf("job %s is not known", id)
	case !l.c.state.Jobs[i].Started.IsZero():
		return fmt.Errorf("job %s is running already", id)
	}
	l.advance(at, -1)
	l.fresh()
	i = l.index[id]
	start := min(at.Unix(), l.c.now)
	if !l.foretold(id, l.machineJob(i), start, placed) {
		l.touch()
	}
	l.first.kept(id, time.Unix(start, 0), l.f.Errors)
	j := &l.c.state.Jobs[i]
	l.unshape(j)
	j.Started, j.Placed, j.Held = time.Unix(start, 0).UTC(), slices.Clone(placed), false
	if l.stale || l.c.at[i] < 0 || l.c.jobs[l.c.at[i]].state == stuck || l.c.jobs[l.c.at[i]].gates > 0 || l.c.queues.unpark(l.c.at[i], l.machineJob(i)) {
		l.stale = true
		return nil
	}
	l.c.startAs(l.c.at[i], start, placed)
	l.watch(i)
	l.settle(i)
	l.stale = l.c.crowded || l.homeless
	return nil
}

// foretold takes a start off the schedule where it comes as it stands there.
// On nodes, beside reservations and under Maui's rules a pass that begins after
// the start may see things otherwise than the one that foretold it.
func (l *Live) foretold(id string, j *job, start int64, placed []Placement) bool {
	if !l.valid || j == nil || !l.c.steady() || l.f.Policy.Name == "maui" || len(l.expected) == 0 && !l.more() {
		return false
	}
	e := l.expected[0]
	if e.ID != id || e.Start.Unix() != start || start != l.c.now || !l.whole(placed, int(j.procs)) {
		return false
	}
	l.expected, l.spans = l.expected[1:], l.spans[1:]
	return true
}

// end takes in that a running job ended. What it teaches is not learned here.
func (l *Live) end(id string, at time.Time) {
	l.fresh()
	i := l.index[id]
	place := l.c.at[i]
	l.advance(at, place)
	j := &l.c.jobs[place]
	if end := min(at.Unix(), l.c.now); !l.f.fixed() || end != l.c.now || end != j.start+j.limit || l.tangled() || l.c.gates.linked() || l.c.queues.busy() {
		l.touch()
	}
	l.c.end(l.c.now, place)
	l.remove(i)
}

// cancel takes in that a waiting job left the queue. A running one was ended
// before its time: nothing is learned from it.
func (l *Live) cancel(id string, at time.Time) error {
	if _, ok := l.index[id]; !ok {
		return fmt.Errorf("job %s is not known", id)
	}
	l.fresh()
	i := l.index[id]
	place := l.c.at[i]
	l.advance(at, place)
	l.touch()
	switch j := l.machineJob(i); {
	case j == nil:
		l.c.refuse = slices.DeleteFunc(l.c.refuse, func(r Refusal) bool { return r.ID == id })
	case j.state == running:
		l.c.end(l.c.now, place)
	default:
		l.c.cancel(l.c.now, place)
	}
	l.remove(i)
	return nil
}

// remove forgets a job.
func (l *Live) remove(i int) {
	id := l.c.state.Jobs[i].ID
	l.unshape(&l.c.state.Jobs[i])
	delete(l.index, id)
	delete(l.first, id)
	l.c.state.Jobs[i], l.c.at[i] = Job{}, -1
}
