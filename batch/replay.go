package batch

import (
	"fmt"
	"iter"
)

// Start is what became of one job of a replay.
type Start struct {
	Task
	Start    int64
	Foretold int64 // by Foretell
}

// Replay runs the machine over a workload until the last job has ended and
// yields every job when it starts. Tasks come in order of submission and fit
// the machine; the first that does not ends the replay with an error.
func (m *Machine) Replay(tasks iter.Seq2[Task, error]) iter.Seq2[Start, error] {
	return m.replay(tasks, nil)
}

// Foretell is Replay that also foretells, when each job is submitted, when it
// will start: from the queue at that moment and what is believed then of run
// times. The belief learns from every job that ends.
func (m *Machine) Foretell(tasks iter.Seq2[Task, error], b Belief) iter.Seq2[Start, error] {
	return m.replay(tasks, b)
}

func (m *Machine) replay(tasks iter.Seq2[Task, error], b Belief) iter.Seq2[Start, error] {
	return func(yield func(Start, error) bool) {
		next, stop := iter.Pull2(tasks)
		defer stop()
		r := replay{m: m, next: next, belief: b}
		for r.pull(); r.err == nil && r.step(); {
			for _, id := range m.started() {
				j := &m.jobs[id]
				r.ends.push(due{j.start + j.Run, j.order, id})
				if !yield(Start{j.Task, j.start, j.foretold}, nil) {
					return
				}
			}
		}
		if r.err != nil {
			yield(Start{}, r.err)
		}
	}
}

// replay is the clock of a Replay.
type replay struct {
	m      *Machine
	next   func() (Task, error, bool)
	task   Task // the next to be submitted
	more   bool
	ends   agenda
	belief Belief
	err    error
}

// pull reads the next task.
func (r *replay) pull() {
	last := r.task.Submit
	if r.task, r.err, r.more = r.next(); !r.more || r.err != nil {
		return
	}
	t := r.task
	switch {
	case t.Procs < 1 || t.Procs > r.m.procs:
		r.err = fmt.Errorf("job %d wants %d processors, the machine has %d", t.ID, t.Procs, r.m.procs)
	case t.Run < 1 || t.Limit < t.Run:
		r.err = fmt.Errorf("job %d: run time %d s, limit %d s: want 0 < run time <= limit", t.ID, t.Run, t.Limit)
	case t.Submit < last:
		r.err = fmt.Errorf("job %d is submitted at %d s, before the job ahead of it (%d s)", t.ID, t.Submit, last)
	}
}

// step does the next event; false: there is none.
func (r *replay) step() bool {
	submit, end, wake := never, never, r.m.next()
	if r.more {
		submit = r.task.Submit
	}
	if len(r.ends) > 0 {
		end = r.ends[0].at
	}
	switch t := min(submit, end, wake); {
	case t == never:
		return false
	case t == submit:
		r.foretell(r.m.submit(t, r.task))
		r.pull()
	case t == end:
		id := r.ends.pop().job
		if r.belief != nil {
			r.belief.Learn(&r.m.jobs[id].Task)
		}
		r.m.end(t, id)
	default:
		r.m.wake(t)
	}
	return true
}

// foretell forecasts the start of a job just submitted.
func (r *replay) foretell(id int32) {
	j := &r.m.jobs[id]
	if j.foretold = r.m.now; r.belief != nil && j.state == queued {
		j.foretold = r.m.foretell(id, r.belief)
	}
}
