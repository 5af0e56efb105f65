package batch

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Engine steps one cluster's scheduler through virtual time: jobs are
// submitted, the policy starts them on nodes, they end after the run time they
// were submitted with, or at their limit, or when they are told to. It is the
// state machine of replays, forecasts and Live with names for its jobs and
// nodes; simulators and tests of agents run on it.
//
// Time goes in whole seconds and never back. At one instant submissions come
// first, then ends in the order of the starts, then planned starts; a
// submission at the present time after ends at that time were seen is taken in
// as it comes. An Engine is not safe for concurrent use.
type Engine struct {
	clock
	c         *cluster
	index     map[string]int // place in c.state.Jobs
	vacant    []int          // places there that are not in use
	observers []func(Event)
	paper     paper
	aside     map[string]int64    // run times in seconds of waiting jobs for which there are no nodes now
	behind    map[string][]string // who waits for a job, or has done so
}

// Event is something that happened on a cluster.
type Event struct {
	At   time.Time
	Kind EventKind
	Job  Job // as it then is; of one that started with Started and Placed
}

// EventKind is what happened.
type EventKind string

// What happens. A job that is TimedOut has reached its limit; one that is
// NodeLost ran on a node that went down; one that was Preempted gave way to another.
const (
	Submitted EventKind = "submitted"
	Started   EventKind = "started"
	Ended     EventKind = "ended"
	TimedOut  EventKind = "timed out"
	NodeLost  EventKind = "node lost"
	Cancelled EventKind = "cancelled"
	Preempted EventKind = "preempted"
)

// RefusedError says that a job was not taken in because it could not start.
type RefusedError struct{ Refusal }

// Error implements error.
func (e *RefusedError) Error() string { return fmt.Sprintf("job %s is refused: %s", e.ID, e.Reason) }

// UnknownJobError names a job that is not, or no longer, known.
type UnknownJobError struct{ ID string }

// Error implements error.
func (e *UnknownJobError) Error() string { return fmt.Sprintf("job %s is not known", e.ID) }

// PastError is an event told of a time before the present.
type PastError struct{ At, Now time.Time }

// Error implements error.
func (e *PastError) Error() string {
	return fmt.Sprintf("an event at %s, when it is %s already", e.At.Format(time.RFC3339), e.Now.Format(time.RFC3339))
}

// NewEngine sets an engine up from a state. Its running jobs run to their
// limits unless they are told to end. The policy first decides in the first
// Step or Advance, or when a job is submitted or ends. A cluster of one node that has nothing but processors is a pool, for
// which everything is faster.
func NewEngine(s State, p Policy) (*Engine, error) {
	s.Jobs = slices.Clone(s.Jobs)
	c, err := newCluster(s, p, &names{}, len(s.Nodes) > 1)
	if err != nil {
		return nil, err
	}
	e := &Engine{c: c, clock: clock{m: c.Machine}, index: map[string]int{}, behind: map[string][]string{}}
	c.following = false
	c.policy.lead(c.Machine)
	c.wakes = append([]int64{c.now}, c.wakes...)
	for i := range s.Jobs {
		if _, twice := e.index[s.Jobs[i].ID]; twice {
			return nil, fmt.Errorf("job %s is in the state twice", s.Jobs[i].ID)
		}
		e.index[s.Jobs[i].ID] = i
		if at := c.at[i]; at >= 0 && c.jobs[at].state == running {
			j := &c.jobs[at]
			e.ends.push(due{dueOf(e.m, j), j.order, at})
		}
	}
	for i := range s.Jobs {
		follow(e, &s.Jobs[i])
	}
	return e, nil
}

// Observe has a function told of every event from now on, in order. It must not
// change the engine.
func (e *Engine) Observe(f func(Event)) { e.observers = append(e.observers, f) }

// Now is the time of the latest event.
func (e *Engine) Now() time.Time { return time.Unix(e.m.now, 0).UTC() }

// Next is when something happens next of itself; zero: nothing will.
func (e *Engine) Next() time.Time {
	if at := e.next(); at < never {
		return time.Unix(at, 0).UTC()
	}
	return time.Time{}
}

// Step lets the next thing happen, an end or planned starts, and tells whether
// there was one.
func (e *Engine) Step() bool {
	if e.next() == never {
		return false
	}
	if id := e.ending(); id >= 0 {
		d := e.ends.pop()
		j := &e.m.jobs[id]
		kind := Ended
		if j.Run == 0 || j.start+j.Run > d.at {
			kind = TimedOut
		}
		e.finish(id, d.at, kind)
	} else {
		e.step()
	}
	e.announce()
	return true
}

// Advance lets everything happen that is due up to a time, which becomes the
// present.
func (e *Engine) Advance(to time.Time) error {
	if to.Unix() < e.m.now {
		return &PastError{to, e.Now()}
	}
	e.until(to.Unix() + 1)
	e.m.advance(to.Unix())
	e.c.state.Now = e.Now()
	return nil
}

// until lets everything happen that is due before a time.
func (e *Engine) until(before int64) {
	for e.next() < before && e.Step() {
	}
}

// reach lets everything happen before a time and moves the clock there.
func (e *Engine) reach(at time.Time) error {
	if at.Unix() < e.m.now {
		return &PastError{at, e.Now()}
	}
	e.until(at.Unix())
	e.m.advance(at.Unix())
	e.c.state.Now = e.Now()
	return nil
}

// Submit takes in a job at j.Submitted that will run for run, or until it is
// told to end where that is 0, and in any case no longer than its limit. A job
// that could never start is refused with a *RefusedError and not taken in.
func (e *Engine) Submit(j Job, run time.Duration) error {
	if _, twice := e.index[j.ID]; twice || j.ID == "" {
		return fmt.Errorf("job %q is there already", j.ID)
	}
	if err := e.reach(j.Submitted); err != nil {
		return err
	}
	j.Started, j.Placed = time.Time{}, nil
	if why := e.c.refused(&j); why.Cause != "" {
		return &RefusedError{why.of(j.ID)}
	}
	e.m.gates.lapse(e.m)
	i := e.room(j)
	follow(e, &j)
	e.tell(Submitted, i)
	id := e.c.stand(i)
	if e.m.jobs[id].Run = int64(run / time.Second); run > 0 && run < time.Second {
		e.m.jobs[id].Run = 1
	}
	e.m.arrive(id)
	e.m.policy.decide(e.m)
	e.announce()
	return nil
}

// room finds a place for a job in the state.
func (e *Engine) room(j Job) int {
	i := len(e.c.state.Jobs)
	if n := len(e.vacant); n > 0 {
		i = e.vacant[n-1]
		e.vacant = e.vacant[:n-1]
		e.c.state.Jobs[i] = j
	} else {
		e.c.state.Jobs, e.c.at = append(e.c.state.Jobs, j), append(e.c.at, -1)
	}
	e.index[j.ID] = i
	if e.c.ids != nil {
		e.c.ids[j.ID] = i
	}
	return i
}

// End ends a running job.
func (e *Engine) End(id string, at time.Time) error { return e.stop(id, at, Ended) }

// Cancel takes a job off the machine, waiting or running.
func (e *Engine) Cancel(id string, at time.Time) error { return e.stop(id, at, Cancelled) }

func (e *Engine) stop(id string, at time.Time, kind EventKind) error {
	if err := e.reach(at); err != nil {
		return err
	}
	i, ok := e.index[id]
	if !ok {
		return &UnknownJobError{id}
	}
	place := e.c.at[i]
	switch {
	case place < 0: // refused from the beginning
		e.tell(kind, i)
		e.c.refuse = slices.DeleteFunc(e.c.refuse, func(r Refusal) bool { return r.ID == id })
		e.m.gates.failed(e.m.now, int64(i))
		e.m.gates.started(e.m.now, int64(i))
		e.forget(i, false)
	case e.m.jobs[place].state == running:
		e.finish(place, e.m.now, kind)
	case kind == Ended:
		return fmt.Errorf("job %s has not started", id)
	default:
		e.tell(kind, i)
		e.m.cancel(e.m.now, place)
		e.forget(i, false)
	}
	e.announce()
	return nil
}

// finish ends a running job.
func (e *Engine) finish(place int32, at int64, kind EventKind) {
	i := int(e.m.jobs[place].ID)
	e.c.state.Now = time.Unix(at, 0).UTC()
	e.event(kind, i, at)
	if kind != Ended {
		e.m.gates.failed(at, e.m.jobs[place].ID)
	}
	e.m.end(at, place)
	e.forget(i, kind == Ended)
}

// follow notes whom a job waits for.
func follow(e *Engine, j *Job) {
	for _, d := range j.After {
		if _, there := e.index[d.ID]; there {
			e.behind[d.ID] = append(e.behind[d.ID], j.ID)
		}
	}
}

// forget takes a job that has just ended, well or not, out of the state, which says from then on what became of those that waited for it.
func (e *Engine) forget(i int, well bool) {
	id := e.c.state.Jobs[i].ID
	for _, other := range e.behind[id] {
		if at, there := e.index[other]; there {
			e.c.state.Jobs[at].settle(id, fate{e.c.state.Jobs[i].Started, e.Now(), well})
		}
	}
	delete(e.behind, id)
	delete(e.index, id)
	delete(e.c.ids, id)
	delete(e.aside, id)
	e.c.state.Jobs[i], e.c.at[i] = Job{}, -1
	e.vacant = append(e.vacant, i)
}

// yielded takes in the jobs that have given way before a start, and returns the others.
func yielded(e *Engine, list []eviction, before int64) []eviction {
	for ; len(list) > 0 && list[0].begun < before; list = list[1:] {
		gone := list[0]
		if gone.mode == PreemptSuspend || gone.mode == resumed {
			if j := &e.m.jobs[gone.place]; gone.mode == resumed && j.paused == nil {
				e.ends.push(due{dueOf(e.m, j), j.order, gone.place})
			}
			continue
		}
		e.event(Preempted, gone.id, gone.at)
		if gone.mode == PreemptCancel {
			e.forget(gone.id, false)
			continue
		}
		j := &e.c.state.Jobs[gone.id]
		j.Started, j.Placed, j.Begin = time.Time{}, nil, time.Unix(gone.at+requeueDelay, 0).UTC()
	}
	return list
}

// announce takes in the jobs that have just started and given way.
func (e *Engine) announce() {
	gone := e.m.gone()
	for _, id := range e.m.started() {
		j := &e.m.jobs[id]
		gone = yielded(e, gone, j.order)
		e.ends.push(due{dueOf(e.m, j), j.order, id})
		i := int(j.ID)
		e.c.state.Jobs[i].Started = time.Unix(j.start, 0).UTC()
		e.c.state.Jobs[i].Placed = e.c.nodes.placed(j.shares)
		e.event(Started, i, j.start)
	}
	yielded(e, gone, never)
	for _, id := range e.m.gates.killed {
		i := int(e.m.jobs[id].ID)
		e.tell(Cancelled, i)
		e.m.wait--
		e.m.drop(id)
		e.forget(i, false)
	}
	e.m.gates.killed = e.m.gates.killed[:0]
}

// dueOf is when a running job ends of itself.
func dueOf(m *Machine, j *job) int64 {
	run := j.limit
	if j.Run > 0 {
		run = min(run, j.Run)
	}
	if at := j.until(j.start, run); at > m.now {
		return at
	}
	return j.start + run
}

func (e *Engine) tell(kind EventKind, i int) { e.event(kind, i, e.m.now) }

func (e *Engine) event(kind EventKind, i int, at int64) {
	if len(e.observers) == 0 {
		return
	}
	what := Event{At: time.Unix(at, 0).UTC(), Kind: kind, Job: e.c.state.Jobs[i]}
	for _, f := range e.observers {
		f(what)
	}
}

// Waiting and Running count the jobs.
func (e *Engine) Waiting() int { return e.m.Waiting() }
func (e *Engine) Running() int { return e.m.Running() }

// Refused lists the waiting jobs that will not start as things are, as far as
// that is known without looking ahead.
func (e *Engine) Refused() []Refusal {
	list := slices.Clone(e.c.refuse)
	for at := range e.m.jobs {
		if j := &e.m.jobs[at]; j.state == stuck {
			list = append(list, e.c.stranded(e.m, int32(at)).of(e.c.state.Jobs[j.ID].ID))
		}
	}
	return list
}

// State is the cluster as it is, as a reader of its batch system would see it.
func (e *Engine) State() State { return StateIn(e, nil) }

// StateIn is an engine's State, with its jobs where some are that nobody needs any more.
func StateIn(e *Engine, room []Job) State {
	s := e.c.state.copyIn(room)
	s.Now = e.Now()
	return s
}

// Near is a forecast as far as a horizon, as Live.Near of State would be, but knowing what
// the policy has promised already. It holds until something happens.
func (e *Engine) Near(f *Forecaster, horizon time.Duration) *Forecast {
	out, run := f.before(e.c, e.m.now+int64(horizon/time.Second), e.paper.last())
	e.paper.keep(run)
	return out
}

// Earliest says when a job of each size would start if it came now, as
// Forecast.Earliest does, knowing what the policy has promised.
func (e *Engine) Earliest(f *Forecaster, sizes []Size) []time.Time {
	e.c.state.Jobs, e.c.at = slices.Grow(e.c.state.Jobs, 1), slices.Grow(e.c.at, 1) // for the one asked about
	return (&Forecast{At: e.Now(), Cluster: e.c.state.Cluster, c: e.c, f: f, paper: &e.paper}).Earliest(sizes)
}

// Configure takes in that nodes, queues or reservations are no longer what they
// were: the lists given take the place of the old. Jobs on nodes that are gone
// or down are lost; the policy plans anew in the next Step.
func (e *Engine) Configure(nodes []Node, queues []Queue, reservations []Reservation, at time.Time) error {
	if err := e.reach(at); err != nil {
		return err
	}
	up := map[string]bool{}
	for _, n := range nodes {
		up[n.Name] = n.Up
	}
	e.m.following = true // nothing is decided before all is set up anew
	for i := range e.c.state.Jobs {
		j := &e.c.state.Jobs[i]
		down := slices.ContainsFunc(j.Placed, func(p Placement) bool { return !up[p.Node] })
		if all := e.c.state.Nodes; len(all) == 1 && !j.Started.IsZero() && len(j.Placed) == 0 { // in a pool nobody is placed
			down = !up[all[0].Name]
		}
		if down {
			e.finish(e.c.at[i], e.m.now, NodeLost)
		}
	}
	runs := maps.Clone(e.aside)
	if runs == nil {
		runs = map[string]int64{}
	}
	for id, i := range e.index {
		if e.c.at[i] >= 0 {
			runs[id] = e.m.jobs[e.c.at[i]].Run
		}
	}
	s := e.State()
	s.Nodes, s.Queues, s.Reservations = slices.Clone(nodes), slices.Clone(queues), slices.Clone(reservations)
	return e.renew(s, runs)
}

// renew sets the engine up anew, with the run times of its jobs.
func (e *Engine) renew(s State, runs map[string]int64) error {
	fresh, err := NewEngine(s, e.c.rules)
	if err != nil {
		return err
	}
	fresh.observers = e.observers
	fresh.ends = fresh.ends[:0]
	for id, i := range fresh.index {
		if fresh.c.at[i] < 0 {
			if fresh.aside == nil {
				fresh.aside = map[string]int64{}
			}
			fresh.aside[id] = runs[id]
			continue
		}
		j := &fresh.m.jobs[fresh.c.at[i]]
		j.Run = runs[id]
		if j.state == running {
			fresh.ends.push(due{max(dueOf(fresh.m, j), fresh.m.now), j.order, fresh.c.at[i]})
		}
	}
	*e = *fresh
	return nil
}
