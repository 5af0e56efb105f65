package batch

import "iter"

// Watcher is told what happens in a replay, as it happens.
type Watcher interface {
	// Submitted is told of a job that the policy has just seen for the first
	// time. The Prospect is valid during the call.
	Submitted(t Task, p *Prospect)
	// Ended is told of a job that has ended.
	Ended(t Task)
}

// Prospect is the outlook of a job just submitted, in a replay.
type Prospect struct {
	m   *Machine
	id  int32
	run *forward // the memory of the last run
}

// Watch is Replay with somebody who is told of submissions and ends.
func (m *Machine) Watch(tasks iter.Seq2[Task, error], w Watcher) iter.Seq2[Start, error] {
	return m.replay(tasks, nil, w)
}

// Now is the present.
func (p *Prospect) Now() int64 { return p.m.now }

// Waiting counts the jobs that wait, this one among them where it does.
func (p *Prospect) Waiting() int { return p.m.wait }

// Waits tells whether the job has not started at once.
func (p *Prospect) Waits() bool { return p.m.jobs[p.id].state == queued }

// Start foretells the start of the job from run times believed, if nothing
// more arrives; the present where it has started.
func (p *Prospect) Start(b Belief) int64 {
	if !p.Waits() {
		return p.m.now
	}
	seq := p.m.jobs[p.id].seq
	p.run = p.m.forward(b, p.run)
	for j, ok := p.run.next(); ok; j, ok = p.run.next() {
		if j.seq == seq {
			return j.start
		}
	}
	return never
}
