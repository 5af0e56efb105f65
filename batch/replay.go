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
	return m.replay(tasks, nil, nil)
}

// Foretell is Replay that also foretells, when each job is submitted, when it
// will start: from the queue at that moment and what is believed then of run
// times. The belief learns from every job that ends.
func (m *Machine) Foretell(tasks iter.Seq2[Task, error], b Belief) iter.Seq2[Start, error] {
	return m.replay(tasks, b, nil)
}

func (m *Machine) replay(tasks iter.Seq2[Task, error], b Belief, w Watcher) iter.Seq2[Start, error] {
	return func(yield func(Start, error) bool) {
		r := replay{clock: clock{m: m}, belief: b, watcher: w, prospect: Prospect{m: m}, yield: yield}
		for t, err := range tasks {
			if err == nil {
				err = r.check(t)
			}
			if err != nil {
				yield(Start{}, err)
				return
			}
			if r.last = t.Submit; !r.until(t.Submit) {
				return
			}
			if r.foretell(m.submit(t.Submit, t)); !r.give() {
				return
			}
		}
		r.until(never)
	}
}

// replay is a Replay under way.
type replay struct {
	clock
	last     int64 // submission so far
	belief   Belief
	watcher  Watcher
	prospect Prospect
	yield    func(Start, error) bool
}

// check finds tasks that cannot be replayed.
func (r *replay) check(t Task) error {
	switch {
	case t.Procs < 1 || t.Procs > r.m.procs:
		return fmt.Errorf("job %d wants %d processors, the machine has %d", t.ID, t.Procs, r.m.procs)
	case t.Run < 1 || t.Limit < t.Run:
		return fmt.Errorf("job %d: run time %d s, limit %d s: want 0 < run time <= limit", t.ID, t.Run, t.Limit)
	case t.Submit < r.last:
		return fmt.Errorf("job %d is submitted at %d s, before the job ahead of it (%d s)", t.ID, t.Submit, r.last)
	}
	return nil
}

// until does all that happens before the time given: ends, then planned
// starts. It returns false where no more starts are asked for.
func (r *replay) until(before int64) bool {
	for r.next() < before {
		if id := r.ending(); id >= 0 && r.belief != nil {
			r.belief.Learn(&r.m.jobs[id].Task)
		} else if id >= 0 && r.watcher != nil {
			r.watcher.Ended(r.m.jobs[id].Task)
		}
		if r.step(); !r.give() {
			return false
		}
	}
	return true
}

// give yields the jobs just started.
func (r *replay) give() bool {
	for _, id := range r.m.started() {
		j := &r.m.jobs[id]
		r.ends.push(due{j.start + j.Run, j.order, id})
		if !r.yield(Start{j.Task, j.start, j.foretold}, nil) {
			return false
		}
	}
	return true
}

// foretell forecasts the start of a job just submitted.
func (r *replay) foretell(id int32) {
	j := &r.m.jobs[id]
	r.prospect.id = id
	if j.foretold = r.m.now; r.belief != nil {
		j.foretold = r.prospect.Start(r.belief)
	}
	if r.watcher != nil {
		r.watcher.Submitted(j.Task, &r.prospect)
	}
}
