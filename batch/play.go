package batch

import (
	"cmp"
	"slices"
	"time"
)

// event is one thing that happened between two pictures.
type event struct {
	at   time.Time
	what happening
	job  *Job // as it is now; of one that is gone as it was
}

// happening is what an event is. Of one second submissions come first, then ends.
type happening int

const (
	submission happening = iota
	end
	start
)

// mostEvents are played one by one: to set the model up anew costs as much as some
// hundreds.
const mostEvents = 200

// play lets the events happen that a difference is made of; false: the model is to
// be set up anew, as there are too many or they do not say all.
func (d *difference) play() bool {
	l := d.l
	if d.anew || d.Requeued+d.Changed > 0 || d.Configured || len(d.events) > mostEvents || l.c.policy.pictured(l.c.Machine) || l.tangled() {
		return false
	}
	slices.SortStableFunc(d.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at.Unix(), b.at.Unix()), cmp.Compare(a.what, b.what))
	})
	for _, e := range d.events {
		if e.what == submission && d.among(e.at.Unix()) || e.at.After(d.now.Now) || !d.happen(e) || l.stale {
			return false
		}
	}
	return !l.c.policy.pictured(l.c.Machine)
}

// among tells whether the place of a job that was submitted at a time is among those that are known: it came before the last
// look, or in the second of that as one of them did.
func (d *difference) among(at int64) bool {
	if at != d.was.Now.Unix() {
		return at < d.was.Now.Unix()
	}
	for i := range d.was.Jobs {
		if j := &d.was.Jobs[i]; j.ID != "" && j.Submitted.Unix() >= at {
			return true
		}
	}
	return false
}

// age works out the priorities of jobs that wait as a picture of this moment has them, where they grow with age: from what each is
// said to be now.
func (l *Live) age() {
	if l.c.policy.aged(l.c.Machine, func(j *job) float64 { return l.c.weight(int(j.ID), j.since) }) {
		l.touch()
	}
}

// happen lets one event happen; false: it cannot.
func (d *difference) happen(e event) bool {
	l, id := d.l, e.job.ID
	var err error
	switch {
	case e.what == submission:
		err = l.submit(*e.job)
	case e.what == end && e.job.Started.IsZero():
		err = l.cancel(id, e.at)
	case e.what == end:
		l.end(id, e.at)
	case e.job.Least > 0: // it has all of its limit from now on
		return false
	default:
		if err = l.start(id, e.at, e.job.Placed); err == nil && !l.stale {
			l.c.state.Jobs[l.index[id]].Started = e.job.Started
		}
	}
	return err == nil
}
