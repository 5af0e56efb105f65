package batch

import (
	"maps"
	"slices"
	"sync"
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

// Fork sets a forecast of this moment apart, which later events leave as it is: the
// function works it out, whole, at once or later, and any goroutine may call it
// while the Live goes on. A Belief that learns must be a Copier.
func (l *Live) Fork() func() *Forecast {
	l.fresh()
	f := l.f.fork()
	c := l.c.fork(&f.users)
	return sync.OnceValue(func() *Forecast { return f.forecast(c) })
}

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
	f.takings, f.named = c.takings.clone(), named{number: c.named.number.clone()}
	return &f
}
