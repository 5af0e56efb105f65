package agent

import (
	"context"
	"errors"
	"net/http"
	"time"

	"gridbroker/forecast/wire"
)

// What the scheduler is spoken to about, behind the cluster's name.
const (
	aboutSlots = "/slots"
	aboutLife  = "/beat"
	aboutReady = "/ready"
)

// deafFor is how long a scheduler that takes no beats, as it is of an older version,
// gets empty deltas instead.
const deafFor = 10 * time.Minute

// due tells whether the scheduler is to hear that what it has still holds.
func due(a *Agent) bool { return a.Now().Sub(a.sent) >= a.Conf.TTL/3 }

// settled tells whether the scheduler has what was told last, and a beat, where one is
// due, is enough for it.
func settled(a *Agent) bool {
	return a.known != nil && a.doubt == nil && (!due(a) || !a.Now().Before(a.deaf))
}

// stay tells the scheduler nothing new, and makes what it has booked.
func stay(ctx context.Context, a *Agent) error {
	var err error
	if due(a) {
		err = beat(ctx, a)
	} else if reserves(a) {
		err = a.ask(ctx)
	}
	if err != nil {
		return err
	}
	return a.reserve(ctx)
}

// beat says that what the scheduler has still holds. One that is lost changes nothing.
func beat(ctx context.Context, a *Agent) error {
	now := a.Now()
	ack, err := a.Link.Beat(ctx, &wire.Beat{Schema: wire.BeatSchema, Cluster: a.Conf.Cluster, Seq: a.known.seq, Digest: a.known.set.Digest(),
		Made: now.Unix(), TTL: int64(a.Conf.TTL / time.Second), Booked: wire.MarkOf(bookedNow(a), now.Unix()).String()})
	if no, refused := errors.AsType[*RefusedError](err); refused && (no.Code == http.StatusNotFound || no.Code == http.StatusMethodNotAllowed) {
		a.deaf = now.Add(deafFor) // the next look sends an empty delta
		return nil
	}
	if err != nil {
		a.Meter.deltas.WithLabelValues("beat", "failed").Inc()
		return err
	}
	if !a.known.is(ack) {
		a.Meter.deltas.WithLabelValues("beat", "resync").Inc()
		a.Log.Info("the scheduler has another state than this agent", "seq", ack.Seq)
		a.doubt, a.until = a.known, time.Time{}
		return nil
	}
	a.Meter.deltas.WithLabelValues("beat", "taken").Inc()
	a.Meter.published.SetToCurrentTime()
	a.sent = now
	if !ack.Same {
		a.bookings(ack.Bookings)
	}
	return nil
}
