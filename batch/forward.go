package batch

// forward is a copy of a machine that runs on its own, nothing arriving, with
// every job taking as long as believed; the policy still plans with limits.
type forward struct {
	m       *Machine
	belief  Belief
	ends    agenda
	started []int32 // not yet given
	begun   bool
	place   int32 // of the job next gave last
}

// forward starts a run from the machine's present state.
func (m *Machine) forward(b Belief) *forward {
	f := &forward{m: m.Clone(), belief: b}
	f.m.following = false
	for id := range f.m.jobs {
		if j := &f.m.jobs[id]; j.state == running {
			f.ends.push(due{f.end(j, f.m.now-j.start), j.order, int32(id)})
		}
	}
	return f
}

// end is when a job is believed to end that has run for elapsed seconds.
func (f *forward) end(j *job, elapsed int64) int64 { return j.start + f.belief.Run(&j.Task, elapsed) }

// next runs on to the next start and returns the job, valid until the next
// call, or false when no more jobs will start.
func (f *forward) next() (*job, bool) {
	if !f.begun { // what was there before the first event may start at once
		f.begun = true
		f.m.policy.decide(f.m)
		f.collect()
	}
	for len(f.started) == 0 {
		t := f.m.next()
		if len(f.ends) > 0 && f.ends[0].at <= t {
			e := f.ends.pop()
			f.m.end(e.at, e.job)
		} else if t < never {
			f.m.wake(t)
		} else {
			return nil, false
		}
		f.collect()
	}
	f.place = f.started[0]
	f.started = f.started[1:]
	return &f.m.jobs[f.place], true
}

// collect takes in the jobs just started.
func (f *forward) collect() {
	f.started = append(f.started[:0], f.m.started()...)
	for _, id := range f.started {
		j := &f.m.jobs[id]
		f.ends.push(due{f.end(j, 0), j.order, id})
	}
}

// foretell says when a waiting job will start if nothing more arrives; never
// where it does not.
func (m *Machine) foretell(id int32, b Belief) int64 {
	seq, f := m.jobs[id].seq, m.forward(b)
	for j, ok := f.next(); ok; j, ok = f.next() {
		if j.seq == seq {
			return j.start
		}
	}
	return never
}
