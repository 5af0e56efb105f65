package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gridbroker/forecast/wire"
)

// StaleError is a delta from the past or from the future.
type StaleError struct{ Why string }

// Error implements error.
func (e *StaleError) Error() string { return e.Why }

// timely refuses what is from the past or from the future.
func timely(made, ttl, now int64) error {
	switch {
	case made > now+wire.Skew:
		return &StaleError{fmt.Sprintf("the schedule was made %d s in the future; set the clocks", made-now)}
	case !wire.Usable(made, ttl, now):
		return &StaleError{fmt.Sprintf("the schedule was made %d s ago and good for %d s: it was long on its way, or the clock of the agent is behind", now-made, ttl)}
	}
	return nil
}

// Ingest takes a delta of a cluster; text is what it was read from, nil where it comes from
// this process, and the leader is here. The answer says what the scheduler has now;
// where the two sides do not agree it asks for a full set.
func (s Listener) Ingest(ctx context.Context, d *wire.Delta, text []byte) (*wire.Ack, error) {
	now := s.now()
	s.mu.Lock()
	var booked *wire.Ack // as bookings are the leader's to make, and its memory is of the last cycle
	if s.mem != nil && s.lead != 0 {
		booked = s.mem.bookings(d.Cluster, d.Booked, now.Unix())
	}
	s.mu.Unlock()
	return s.store.ingest(ctx, d, text, now, booked)
}

// ingest changes the tables and leaves a message for the leader, in one transaction.
// What the answer says of bookings is given, or nil: it is looked what they are.
func (s *Store) ingest(ctx context.Context, d *wire.Delta, text []byte, now time.Time, booked *wire.Ack) (*wire.Ack, error) {
	if err := timely(d.Made, d.TTL, now.Unix()); err != nil {
		return nil, err
	}
	if d.Full { // a set that is not what it says would be taken for the agent's until the next delta
		set, err := d.Set()
		if err != nil {
			return nil, err
		}
		s.fresh.put(d.Cluster, set)
	}
	ack := &wire.Ack{Schema: wire.AckSchema}
	err := tell(ctx, s, func(h handle) error { return intake{h, d, now.Unix(), booked}.ingest(ctx, text, ack) })
	switch {
	case err != nil && d.Full:
		s.fresh.take(d.Cluster, d.Digest)
	case err == nil && !d.Full && !ack.Resync:
		s.fresh.add(d)
	}
	return ack, err
}

// Have is what the scheduler has of a cluster, as the answer to a delta says it.
func (s *Store) Have(ctx context.Context, cluster string, now time.Time) (*wire.Ack, error) {
	ack := &wire.Ack{Schema: wire.AckSchema, Digest: (&wire.Set{}).Digest()}
	err := s.read(ctx, func(h handle) error {
		known, torn, err := h.clusters.standing(ctx, cluster, false, ack)
		if ack.Resync = !known || torn; err != nil {
			return err
		}
		if ack.Good, err = h.clusters.goodFor(ctx, cluster, now.Unix()); err != nil {
			return err
		}
		return bookingsOf(ctx, h.bookings, cluster, now.Unix(), ack, "")
	})
	return ack, err
}

// intake is a transaction that takes in one delta.
type intake struct {
	handle
	delta  *wire.Delta
	now    int64     // seconds of Unix time
	booked *wire.Ack // what the answer says of bookings; nil: not known
}

func (h intake) ingest(ctx context.Context, text []byte, ack *wire.Ack) error {
	known, torn, err := h.clusters.standing(ctx, h.delta.Cluster, true, ack)
	if err != nil {
		return err
	}
	if known && h.delta.Seq == ack.Seq && h.delta.Digest == ack.Digest && !h.delta.Full { // sent again: the answer was lost
		return bookingsOf(ctx, h.bookings, h.delta.Cluster, h.now, ack, h.delta.Booked)
	}
	if !h.delta.Full && (!known || torn || h.delta.Base != ack.Digest || h.delta.Seq != ack.Seq+1) {
		if ack.Resync = true; ack.Digest == "" {
			ack.Digest = (&wire.Set{}).Digest()
		}
		return nil
	}
	if err := h.clusters.keep(ctx, h.delta, h.now); err != nil {
		return err
	}
	ack.Seq, ack.Digest = h.delta.Seq, h.delta.Digest
	m := slotsMessage{Cluster: h.delta.Cluster, Full: h.delta.Full, Seq: h.delta.Seq, Made: h.delta.Made, Digest: h.delta.Digest}
	if !h.delta.Full {
		m.Delta = text
	}
	if err := h.mail.post(ctx, kindSlots, fmt.Sprintf("slots/%s/%d/%d", h.delta.Cluster, h.delta.Seq, h.delta.Made), m); err != nil {
		return err
	}
	h.wake()
	if h.booked != nil {
		ack.Same, ack.Bookings = h.booked.Same, h.booked.Bookings
		return nil
	}
	return bookingsOf(ctx, h.bookings, h.delta.Cluster, h.now, ack, h.delta.Booked)
}

// isMismatch tells whether a set and a delta did not go together.
func isMismatch(err error) bool {
	_, ok := errors.AsType[*wire.Mismatch](err)
	return ok
}
