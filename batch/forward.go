package batch

// forward is a copy of a machine that runs on its own, nothing arriving, with
// every job taking as long as believed; the policy still plans with limits.
type forward struct {
	clock
	belief  Belief
	started []int32 // not yet given
	begun   bool
	place   int32 // of the job next gave last
	gone    []eviction
	again   []span   // of jobs that gave way and started again
	from    *Machine // what it is a copy of
	given   int      // starts
	asked   int64    // seconds for whose starts it was asked first of all
	depths  depths   // how far it sees
	learned depths   // what is enough for so many seconds: of the next run in its memory
	runs    int      // in this memory
}

// forward starts a run from the machine's present state, in the memory of an
// older run unless nil.
func (m *Machine) forward(b Belief, old *forward) *forward { return glimpse(m, b, old, never) }

// glimpse is forward for who asks for the starts of so many seconds first of all: later
// ones may cost a run that begins once more. As long as any are asked for, what is
// still to come on the machine itself is to be the same.
func glimpse(m *Machine, b Belief, old *forward, seconds int64) *forward {
	if old == nil {
		old = &forward{clock: clock{m: &Machine{}}}
	}
	d, runs := old.learned, old.runs+1
	if runs%triedAgain == 0 {
		d = d.less()
	}
	f := peer(m, b, old, seconds, d)
	f.learned, f.runs = d, runs
	return f
}

// peer is glimpse with a sight of some depths.
func peer(m *Machine, b Belief, old *forward, seconds int64, d depths) *forward {
	f := &forward{clock: clock{m.clone(old.m), old.ends[:0]}, belief: b, started: old.started[:0], from: m, asked: seconds, depths: d}
	for id := range f.m.jobs {
		if j := &f.m.jobs[id]; j.state == running {
			f.ends = append(f.ends, due{f.end(j, f.m.now-j.start), f.ticket(j), int32(id)})
		}
	}
	f.ends.order()
	f.m.recall.renew(m)
	f.m.policy.foretells(f.m, b)
	f.m.sight = newSight(f.m, b, seconds, d)
	if f.m.following {
		f.m.following = false
		f.m.policy.lead(f.m)
	}
	return f
}

// end is when a job is believed to end that has run for elapsed seconds.
func (f *forward) end(j *job, elapsed int64) int64 {
	run := f.belief.Run(&j.Task, elapsed)
	if at := j.until(j.start, run); at > f.m.now {
		return at
	}
	return j.start + run
}

// next runs on to the next start and returns the job, valid until the next
// call, or false when no more jobs will start. Who gave way and starts again is not told.
func (f *forward) next() (*job, bool) {
	if !f.begun { // what was there before the first event may start at once
		f.begun = true
		f.m.policy.decide(f.m)
		f.collect()
	}
	for f.skip(); len(f.started) == 0; f.skip() {
		switch at := f.clock.next(); {
		case f.m.sight.blindAt(at):
			f.see()
			return f.next()
		case at == never:
			return nil, false
		}
		f.step()
		f.collect()
	}
	f.place = f.started[0]
	f.started = f.started[1:]
	f.given++
	return &f.m.jobs[f.place], true
}

// Bounds of how often jobs start again, for each job and in all: rules by which they give way to
// each other in turn would have no end. Then nobody gives way any more.
const (
	againEach = 16
	againAll  = 64
)

// skip notes the starts, next in turn, of those that gave way and start again.
func (f *forward) skip() {
	for len(f.started) > 0 && f.m.jobs[f.started[0]].again {
		j := &f.m.jobs[f.started[0]]
		f.again = append(f.again, span{j.start, f.end(j, 0), *j})
		f.started = f.started[1:]
		f.given++
	}
	if len(f.again) > againEach*len(f.m.jobs)+againAll {
		f.m.policy.endless()
	}
}

// see begins once more, seeing farther and in the end all, and goes on behind the starts
// that were given. Where it did not see as far as it was asked for the next run does, too.
func (f *forward) see() {
	s, given, asked, d, learned, runs := f.m.sight, f.given, f.asked, f.depths, f.learned, f.runs
	if d.deeper(&s); s.gone {
		asked = never
	} else if s.blind < s.enough {
		learned = d
	}
	*f = *peer(f.from, f.belief, f, asked, d)
	f.learned, f.runs = learned, runs
	for f.given < given {
		f.next()
	}
}

// cut ends the times of jobs that gave way, and adds those of their later runs.
func (f *forward) cut(list []span) []span {
	list = append(list, f.again...)
	for _, e := range f.gone {
		for i := range list {
			pauses := e.mode == PreemptSuspend || e.mode == resumed // another span begins then
			if s := &list[i]; s.job.seq == e.seq && s.from <= e.at && e.at < s.to && !(pauses && s.from == e.at) {
				s.to = e.at
			}
		}
	}
	return list
}

// collect takes in the jobs just started.
func (f *forward) collect() {
	f.started = append(f.started[:0], f.m.started()...)
	f.paused(f.m.gone())
	for _, id := range f.started {
		j := &f.m.jobs[id]
		f.ends.push(due{f.end(j, 0), j.order, id})
	}
}

// paused takes in who gave way, and the times of those that are suspended and go on.
func (f *forward) paused(list []eviction) {
	f.gone = append(f.gone, list...)
	for _, e := range list {
		switch j := &f.m.jobs[e.place]; {
		case e.mode == PreemptSuspend && j.paused != nil:
			f.again = append(f.again, span{e.at, never, *j})
		case e.mode == resumed && j.paused == nil:
			end := f.end(j, f.m.now-j.start)
			f.ends.push(due{end, j.order, e.place})
			f.again = append(f.again, span{e.at, end, *j})
		}
	}
}

// ticket orders the ends of running jobs at one instant. Of a cluster that is
// followed the order of the starts is known by their times only; equal ones
// are as the state lists them. All are before those of jobs started later.
func (f *forward) ticket(j *job) int64 {
	if f.m.following {
		return (j.start-f.m.now-1)<<24 + j.ID
	}
	return j.order
}
