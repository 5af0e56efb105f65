package batch

import "time"

// upcoming is the near future of a Live as it was last asked for.
type upcoming struct {
	current  bool // it is of the present
	horizon  time.Duration
	forecast *Forecast
	run      int   // the run of the schedule that it is of
	next     int64 // the first start beyond it; never: there is none
}

// Near is a forecast of what starts before a horizon: of Jobs and Slots what is
// expected later is left out, and nothing is Refused. It costs a run of the schedule
// as far as that and nothing where nothing has happened, and is good until the next
// event.
func (l *Live) Near(horizon time.Duration) *Forecast {
	if l.fresh(); l.near.current && l.near.horizon == horizon {
		return l.near.forecast
	}
	until, n := l.Now().Add(horizon), 0
	l.foretell(int64(horizon/time.Second), func() bool {
		for n < len(l.expected) && l.expected[n].Start.Before(until) {
			n++
		}
		return n < len(l.expected)
	})
	out := &Forecast{At: l.Now(), Cluster: l.c.state.Cluster, Jobs: l.expected[:n:n], c: l.c, f: l.f}
	out.held = l.run.cut(append(l.occupied(), l.spans[:n]...))
	l.near = upcoming{true, horizon, out, l.runs, never}
	if n < len(l.expected) {
		l.near.next = l.expected[n].Start.Unix()
	}
	return out
}

// Holds tells whether the last Near of a Live, of a horizon, is still right: nothing has happened since, nothing
// that was foretold was due, no belief and no priority has changed with time, and in the time over which the
// horizon has moved nothing begins or ends. But for what is free already, which is so from now on, Near and its Slots
// would say the same. It costs a look at what is expected to run.
func Holds(l *Live, horizon time.Duration) bool {
	f := l.near.forecast
	if f == nil || l.stale || !l.valid || l.near.run != l.runs || l.near.horizon != horizon {
		return false
	}
	was, is := f.At.Add(horizon).Unix(), l.Now().Add(horizon).Unix()
	if l.near.next < is {
		return false
	}
	for i := range f.held {
		s := &f.held[i]
		if s.from >= was && s.from < is || s.to >= was && s.to < is || s.to <= l.c.now {
			return false
		}
	}
	return true
}

// occupied is what runs now, as long as it is believed to, in the order in which a
// run of the schedule begins with it.
func (l *Live) occupied() []span {
	ends := make(agenda, 0, len(l.index))
	for at := range l.c.jobs {
		if j := &l.c.jobs[at]; j.state == running {
			ends = append(ends, due{l.run.end(j, l.c.now-j.start), l.run.ticket(j), int32(at)})
		}
	}
	ends.order()
	list := make([]span, len(ends), len(ends)+len(l.spans))
	for i, d := range ends {
		list[i] = span{l.c.now, d.at, l.c.jobs[d.job]}
	}
	return list
}
