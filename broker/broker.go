package broker

import (
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Broker plans: it decides where jobs shall go. Its fields are set once,
// before use; it may then be used from several goroutines.
type Broker struct {
	Registry *plugins.Registry // back-ends; nil: plans are made but nothing is submitted
	Rules    Rules             // circumstances; Now is set by each Plan
	Policy   rank.Policy
	Seed     uint64 // of the draws among equals
	Clock    clock.Clock

	Services Services

	// AskFor is how long services are waited for; 0: not limited beyond the
	// context.
	AskFor time.Duration
	// Alternatives is how many resources a job may be offered to; 0: ten.
	Alternatives int
	// WholeOrder keeps every choice of every job of a plan, not only the
	// alternatives; a single job has them all anyway.
	WholeOrder bool
}

// Offers is how many resources a job may be offered to.
func (b *Broker) Offers() int {
	if b.Alternatives > 0 {
		return b.Alternatives
	}
	return 10
}

// rules are the circumstances of one plan.
func (b *Broker) rules() Rules {
	r := b.Rules
	r.Now = b.Clock.Now()
	if b.Registry != nil && r.Speaks == nil {
		reg := b.Registry
		r.Interfaces = reg.Interfaces()
		r.ReadOnly = reg.ReadOnly
		r.Speaks = reg.Takes
		r.Moves = reg.Moves
		if r.Shown {
			r.Speaks = func(iface string) bool { _, ok := reg.For(iface); return ok }
		}
	}
	return r
}
