package batch

import (
	"maps"
	"slices"
)

// Copier is a Belief that can be copied: what one learns the other does not.
type Copier interface{ Copy() Belief }

// Copy implements Copier.
func (b *LastTwo) Copy() Belief { return &LastTwo{maps.Clone(b.last)} }

// Copy implements Copier.
func (h *History) Copy() Belief {
	c := *h
	c.users = maps.Clone(h.users) // Learn does not change a pastJobs in place
	return &c
}

// Snapshot is the forecast of this moment, which later events leave as it is: it
// may be read by other goroutines while the Live goes on. It becomes what
// Published gives. A Belief that learns must be a Copier.
func (l *Live) Snapshot() *Forecast {
	l.fresh()
	if s := l.published.Load(); s != nil && l.snapped {
		return s
	}
	f := l.f.fork()
	s := f.forecast(l.c.fork(&f.users))
	l.version++
	s.Version, l.snapped = l.version, true
	l.published.Store(s)
	return s
}

// Published is the latest Snapshot, nil where there was none. Any goroutine may
// ask.
func (l *Live) Published() *Forecast { return l.published.Load() }

// fork copies a forecaster.
func (f *Forecaster) fork() *Forecaster {
	c := &Forecaster{Policy: f.Policy, Belief: f.Belief, users: names{maps.Clone(f.users.number)}}
	if b, ok := f.Belief.(Copier); ok {
		c.Belief = b.Copy()
	}
	if f.Beside != nil {
		c.Beside = f.Beside.Copy().(*Similar)
	}
	if f.Errors != nil {
		e := *f.Errors
		c.Errors = &e
	}
	return c
}

// fork copies a cluster.
func (c *cluster) fork(users *names) *cluster {
	f := *c
	f.Machine, f.users, f.empty = c.Clone(), users, nil
	f.state.Jobs, f.at, f.refuse = slices.Clone(c.state.Jobs), slices.Clone(c.at), slices.Clone(c.refuse)
	f.needs, f.ids, f.arrays, f.standings = maps.Clone(c.needs), nil, maps.Clone(c.arrays), maps.Clone(c.standings)
	f.nodes.sets = maps.Clone(c.nodes.sets)
	f.parts, f.kinds, f.order = c.parts.clone(), c.kinds.clone(), c.order.clone()
	return &f
}
