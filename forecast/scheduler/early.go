package scheduler

import (
	"time"

	"gridbroker/forecast/wire"
)

// early is when a cluster is looked at before its turn, as its agent has told that jobs have begun or ended there:
// guests may be among them. Where they are not it is believed less often.
type early struct {
	due   time.Time     // zero: it is not
	next  time.Time     // not before
	pause time.Duration // between this look and the next
}

// earlyPause is the least time between a look at a cluster and one before its turn.
const earlyPause = time.Second

// stirs tells whether a delta says that jobs have begun or ended.
func stirs(d *wire.Delta) bool {
	for i := range d.Jobs {
		if d.Jobs[i].State == "running" {
			return true
		}
	}
	return len(d.JobsGone) > 0
}

// note has a cluster looked at as soon as that may be.
func (s follower) note(name string, now time.Time) {
	e := s.early[name]
	if e == nil {
		e = &early{pause: earlyPause}
		s.early[name] = e
	}
	if e.due.IsZero() {
		if e.due = now; e.next.After(now) {
			e.due = e.next
		}
	}
}

// soonest is when something is to be looked at, and by then all is.
func (s follower) soonest(all time.Time) time.Time {
	for _, e := range s.early {
		if !e.due.IsZero() && e.due.Before(all) {
			all = e.due
		}
	}
	return all
}

// due are the clusters to be looked at before their turn. They are believed half as often from now on, unless
// something is found.
func (s follower) due(now time.Time) map[string]bool {
	list := map[string]bool{}
	for name, e := range s.early {
		if e.due.IsZero() || e.due.After(now) {
			continue
		}
		e.pause = min(2*e.pause, 4*s.conf.StatusEvery)
		list[name], e.due, e.next = true, time.Time{}, now.Add(e.pause)
	}
	return list
}

// newsOf notes that a cluster had news of guests.
func (s follower) newsOf(name string) {
	if e := s.early[name]; e != nil {
		e.pause = earlyPause
		if soon := time.Now().Add(earlyPause); e.next.After(soon) {
			e.next = soon
		}
	}
}
