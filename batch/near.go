package batch

import "time"

// upcoming is the near future of a Live as it was last asked for.
type upcoming struct {
	current  bool // it is of the present
	horizon  time.Duration
	forecast *Forecast
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
	l.near = upcoming{true, horizon, out}
	return out
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
