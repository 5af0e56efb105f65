package batch

import (
	"fmt"
	"iter"
)

// Start is what became of one job of a replay.
type Start struct {
	Task
	Start int64
}

// Replay runs the machine over a workload until the last job has ended and
// yields every job when it starts. Tasks come in order of submission and fit
// the machine; the first that does not ends the replay with an error.
func (m *Machine) Replay(tasks iter.Seq2[Task, error]) iter.Seq2[Start, error] {
	return func(yield func(Start, error) bool) {
		next, stop := iter.Pull2(tasks)
		defer stop()
		r := replay{m: m, next: next}
		for r.pull(); r.err == nil && r.step(); {
			for _, id := range m.started() {
				j := &m.jobs[id]
				r.order++
				r.ends.push(due{j.start + j.Run, r.order, id})
				if !yield(Start{j.Task, j.start}, nil) {
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
	m     *Machine
	next  func() (Task, error, bool)
	task  Task // the next to be submitted
	more  bool
	ends  agenda
	order int64
	err   error
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
		r.m.submit(t, r.task)
		r.pull()
	case t == end:
		r.m.end(t, r.ends.pop().job)
	default:
		r.m.wake(t)
	}
	return true
}
