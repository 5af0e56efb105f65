package agent

import (
	"math"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// gate decides what of the free time of nodes is offered to guests: by the owner's rules,
// and by what guests cost local jobs, which it measures and holds within the owner's
// bound.
type gate struct {
	Conf Config

	loss     loss
	longest  time.Duration // of a guest in a slot; 0: none is let in
	told     float64       // share lost, as it was when that was decided
	nextLoss time.Time     // when what guests cost may be looked at again
	nextHold time.Time     // when the longest guest may be another
}

// newGate is one for a site's configuration. It is open until it has seen a loss.
func newGate(c Config) *gate { return &gate{Conf: c, longest: math.MaxInt64} }

// offer is what guests may have of the free time foreseen. What is booked tells which
// jobs are guests.
func (g *gate) offer(s batch.State, f *batch.Forecast, booked []wire.Booking) []batch.Slot {
	if g.holds() && g.longest == 0 {
		return nil
	}
	return spared(g, s, unclaimed(g, s, f, booked, g.offered(s, f.Slots(g.Conf.Horizon))), f.At)
}

// look takes in what guests cost local jobs, whose policy is given. A tenth of the time
// that a clock tells goes into it at most.
func (g *gate) look(s batch.State, f *batch.Forecast, booked []wire.Booking, by batch.Policy, clock func() time.Time) error {
	began := clock()
	if g.Conf.Site.Start == wire.Partition || began.Before(g.nextLoss) {
		return nil
	}
	waiting, lost, err := losing(s, f, booked, by)
	if err != nil {
		return err
	}
	g.loss.count(waiting, lost, began)
	g.nextLoss = began.Add(ponderShare * clock().Sub(began))
	if g.holds() && !began.Before(g.nextHold) {
		g.nextHold = began.Add(holdFor)
		g.longest, g.told = g.loss.longest(g.Conf.Loss/100), math.Round(g.loss.share()*200)/200
	}
	return nil
}

// recall takes in what was learned before.
func (g *gate) recall(l *loss) {
	if l != nil && l.Lost >= 0 && l.Waited >= l.Lost {
		g.loss = *l
	}
}

// holdFor is how long the longest guest stays the same.
const holdFor = 10 * time.Minute

// holds tells whether the loss is held within a bound.
func (g *gate) holds() bool { return g.Conf.Loss > 0 && g.Conf.Site.Start != wire.Partition }

// maxSlot is the longest guest that is let into slots now, in seconds; 0: no limit.
func (g *gate) maxSlot() int64 {
	if g.longest > lengths[len(lengths)-1] {
		return 0
	}
	return int64(g.longest / time.Second)
}
