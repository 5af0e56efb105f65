package batch

import (
	"fmt"
	"slices"
	"time"
)

// Live follows a real cluster from picture to picture and always has a forecast.
// The cluster decides what starts; the model follows it. The forecast is at every
// moment the one a Forecaster would make of the cluster's state, but the state
// is kept rather than set up anew where few events lie between two pictures, and
// only as many starts are worked out as are asked for. Under the belief Estimate an event that happens as foretold
// leaves the schedule as it is. Where the Forecaster has Errors they learn how
// each job's first forecast came out.
//
// Events may come late: the clock never goes back, and what is told of the
// past is taken as it was.
//
// A Live is not safe for concurrent use but for what Fork sets apart.
type Live struct {
	f *Forecaster
	model
	run      *forward   // the schedule still to be worked out
	valid    bool       // run and expected are of the present
	expected []Expected // the schedule as far as it is worked out
	spans    []span     // of expected
	first    promises
	gone     map[string]fate // of jobs that are gone, for which some of the picture are said to wait still

	near upcoming
	runs int    // of the schedule, counted from 1
	room []Job  // for the jobs of the next picture
	mark uint64 // of the picture that was taken in last; 0: that has none
}

// Live begins to follow a cluster from a state.
func (f *Forecaster) Live(s State) (*Live, error) {
	l := &Live{f: f, first: promises{}, gone: map[string]fate{}, model: model{index: make(map[string]int, len(s.Jobs))}}
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		if _, twice := l.index[s.Jobs[i].ID]; twice {
			return nil, fmt.Errorf("job %s is in the state twice", s.Jobs[i].ID)
		}
		l.index[s.Jobs[i].ID] = i
	}
	return l, l.adopt(f, s)
}

// touch notes that something has happened. Reservations, jobs that wait for
// others, nodes on which more runs than they have, and where jobs are for which
// there is no room, depend on all of the
// state: with any of them the model is set up anew.
func (l *Live) touch() {
	l.valid, l.stale = false, l.stale || l.tangled()
}

// fresh sets the model up anew where that is due.
func (l *Live) fresh() {
	if !l.stale {
		return
	}
	l.valid = false
	if l.renew(l.f, l.c.state.copy()) != nil {
		panic("batch: a policy that was valid no longer is")
	}
}

// Now is the time of the latest event.
func (l *Live) Now() time.Time { return time.Unix(l.c.now, 0).UTC() }

// State is the cluster as the events so far have made it.
func (l *Live) State() State { return l.StateIn(nil) }

// StateIn is State, with its jobs where some are that nobody needs any more.
func (l *Live) StateIn(room []Job) State {
	l.fresh()
	return l.c.state.copyIn(room)
}

// copy copies a state, without the places of jobs that are gone.
func (s State) copy() State { return s.copyIn(nil) }

func (s State) copyIn(room []Job) State {
	s.Mark = 0 // it is no picture of a source
	s.Nodes, s.Queues, s.Reservations, s.Caps = slices.Clone(s.Nodes), slices.Clone(s.Queues), slices.Clone(s.Reservations), slices.Clone(s.Caps)
	all := s.Jobs
	if s.Jobs = room[:0]; room == nil && all != nil {
		s.Jobs = make([]Job, 0, len(all))
	}
	for i := range all {
		if all[i].ID != "" {
			s.Jobs = append(s.Jobs, all[i])
		}
	}
	return s
}

// advance moves the clock on; the job at the place ending is about to end and
// does not outrun its limit.
func (l *Live) advance(to time.Time, ending int32) {
	l.near.current = false
	now := to.Unix()
	if now <= l.c.now && ending < 0 {
		return
	}
	now = max(now, l.c.now)
	if now > l.c.now {
		if !l.f.fixed() || l.tangled() {
			l.touch()
		}
		l.c.advance(now)
		l.c.state.Now = time.Unix(now, 0)
		if l.c.gates.drift || l.c.gates.next(l.c.Machine) <= now {
			l.valid, l.stale = false, true
		}
	}
	for len(l.limits) > 0 && l.limits[0].at <= now {
		d := l.limits.pop()
		j := &l.c.jobs[d.job]
		if d.job == ending || j.state != running || j.seq != d.ticket || j.start+j.limit != d.at {
			continue
		}
		l.c.extend(j)
		l.limits.push(due{j.start + j.limit, j.seq, d.job})
		l.touch()
	}
	if l.valid && (len(l.expected) > 0 || l.more()) && l.expected[0].Start.Unix() < now {
		l.valid = false // something should have started
	}
}

// foretell works the schedule out as far as is enough, or to its end. It is asked
// for so many seconds first of all.
func (l *Live) foretell(ahead int64, enough func() bool) {
	l.fresh()
	if !l.valid {
		l.run, l.expected, l.spans, l.valid = glimpse(l.c.Machine, l.f.belief(), l.run, ahead), l.expected[:0], l.spans[:0], true
		l.runs++
	}
	for !enough() && l.more() {
	}
}

// more works out one more start.
func (l *Live) more() bool {
	j, ok := l.run.next()
	if !ok {
		return false
	}
	end := l.run.end(j, 0)
	e := l.f.expected(l.c, j, end)
	l.expected, l.spans = append(l.expected, e), append(l.spans, span{j.start, end, *j})
	if l.f.Errors != nil {
		if _, ok := l.first[e.ID]; !ok {
			l.first[e.ID] = promise{l.c.now, j.start}
		}
	}
	return true
}
