package agent

import (
	"math"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// lasting is what was foretold last, and how long nothing of it changes but by something that happens.
type lasting struct {
	state batch.State
	until int64 // seconds of Unix time; 0: it is not known
}

// note takes in what was foretold of a state and offered, and the bookings that it was looked at with.
func (p *lasting) note(s batch.State, steps []batch.Slot, booked []wire.Booking) {
	now := s.Now.Unix()
	p.state, p.until = s, math.MaxInt64
	soonest := func(at int64) {
		if at > now {
			p.until = min(p.until, at)
		}
	}
	for i := range steps {
		soonest(unix(steps[i].From))
		soonest(unix(steps[i].To))
	}
	for i := range booked { // one that begins or ends makes other jobs guests
		soonest(booked[i].From)
		soonest(booked[i].To)
	}
	for i := range s.Jobs {
		soonest(unix(s.Jobs[i].Begin))
	}
}

// refresh does what is to be done when what was foretold is some minutes old, of a queue in which nothing has happened:
// how slots come out is learned from, and new ones are watched. It tells whether nothing that was told is another now:
// else all is foretold anew, which finds what.
func refresh(a *Agent) bool {
	now := a.Now()
	if now.Before(a.until) || places(a) > 0 || a.until.IsZero() || now.Unix() >= a.stands.until || !batch.Holds(a.live, a.Conf.Horizon) {
		return false
	}
	s := a.stands.state
	s.Now = a.live.Now()
	booked := begunNow(bookedNow(a), s, now)
	a.slotOdds.look(s, booked, now)
	chances := a.slotOdds.chances(now)
	if !sameChances(a, chances, s.Now, now) {
		return false
	}
	if a.Conf.Site.Start != wire.Partition && !now.Before(a.nextLoss) {
		a.loss.count(a.loss.waiting, a.loss.lost, now)
		a.Meter.loss.Set(a.loss.share())
	}
	a.mu.Lock()
	slots := a.slots
	a.chances = chances
	a.mu.Unlock()
	a.slotOdds.watch(slots, now)
	a.until = holds(slots, now)
	return true
}

// sameChances tells whether slots, and the site, are told the chances by now that they were told. What is free begins
// when the batch system was looked at.
func sameChances(a *Agent, c Chances, looked, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, ahead := range a.chances.Ahead {
		if ahead != c.Ahead[i] || round(a.chances.Start[i]) != round(c.Start[i]) {
			return false
		}
	}
	for i := range a.slots {
		v := &a.slots[i]
		ahead := time.Unix(v.From, 0).Sub(now)
		if v.From <= now.Unix() {
			ahead = looked.Sub(now)
		}
		if start, hold := c.at(ahead); start != v.Start || hold != v.Hold {
			return false
		}
	}
	return true
}

// toldFor is until when what was told of a local job stays as it is, as long as it is expected to start when it is now
// (see stays). A start beyond the end of what is foretold moves with that end.
func toldFor(was, is *wire.Entry, now, end int64) int64 {
	off := is.Start - was.Start
	off = max(off, -off)
	switch {
	case is.State != "waiting" || is.Start == 0 || is.Start-now <= startSoon:
		return math.MaxInt64
	case is.Start >= end:
		return 0
	case off <= startOff:
		return is.Start - startSoon
	}
	return min(is.Start-startSoon, is.Start-startShare*off)
}
