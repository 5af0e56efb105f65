package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/wire"
)

// Listener takes in what agents tell a replica.
type Listener struct{ *Scheduler }

// Beat takes in that a cluster's schedule still holds. A leader answers out of its
// memory; the table learns it by the time at which what it has is half way to its end.
func (s Listener) Beat(ctx context.Context, b *wire.Beat) (*wire.Ack, error) {
	now := s.now()
	if err := timely(b.Made, b.TTL, now.Unix()); err != nil {
		return nil, err
	}
	if ack := s.heard(b, now.Unix(), false); ack != nil {
		return ack, nil
	}
	ack, err := keepBeat(ctx, s.store, b, now)
	if err == nil && !ack.Resync {
		s.heard(b, now.Unix(), true)
	}
	return ack, err
}

// heard takes a beat into the leader's memory; nil: it is the table's to answer. One
// that is in the table is not answered again.
func (s Listener) heard(b *wire.Beat, now int64, stored bool) *wire.Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil || s.lead == 0 {
		return nil
	}
	c := s.mem.clusters[b.Cluster]
	if c == nil || c.torn || uint64(c.seq) != b.Seq || c.set.Digest() != b.Digest {
		return nil
	}
	ack := s.mem.bookings(b.Cluster, b.Booked, now)
	if !stored && (ack == nil || b.Made-c.stored > 2*b.TTL/3 || c.stored > wire.Newest(b.TTL, now)) {
		return nil
	}
	if b.Made >= c.made || c.made > wire.Newest(b.TTL, now) {
		c.made, c.ttl = b.Made, b.TTL
	}
	if stored && (b.Made >= c.stored || c.stored > wire.Newest(b.TTL, now)) {
		c.stored = b.Made
	}
	if ack != nil {
		ack.Schema, ack.Seq, ack.Digest = wire.AckSchema, b.Seq, b.Digest
	}
	return ack
}

// keepBeat takes a beat into the table.
func keepBeat(ctx context.Context, s *Store, b *wire.Beat, now time.Time) (*wire.Ack, error) {
	ack := &wire.Ack{Schema: wire.AckSchema, Digest: (&wire.Set{}).Digest()}
	err := tell(ctx, s, func(h handle) error {
		known, torn, err := h.clusters.standing(ctx, b.Cluster, true, ack)
		if ack.Resync = !known || torn || ack.Seq != b.Seq || ack.Digest != b.Digest; err != nil || ack.Resync {
			return err
		}
		if err := h.clusters.beat(ctx, b, now.Unix()); err != nil {
			return err
		}
		return bookingsOf(ctx, h.bookings, b.Cluster, now.Unix(), ack, b.Booked)
	})
	return ack, err
}

// beats brings the leader's memory and the table together: what other replicas heard
// is read, and what this one heard is written before the table's is old.
func (w news) beats(ctx context.Context) error {
	known, err := w.h.clusters.beats(ctx)
	if err != nil {
		return err
	}
	for _, r := range known {
		if c := w.mem.clusters[r.Name]; c != nil && c.seq == r.Seq {
			if c.stored = r.Made; r.Made > c.made || c.made > wire.Newest(r.TTL, w.now.Unix()) {
				c.made, c.ttl = r.Made, r.TTL
			}
		}
	}
	var list []beatRow
	late := false
	for name, c := range w.mem.clusters {
		if c.stored < c.made {
			list = append(list, beatRow{name, c.seq, c.made, c.ttl})
			late = late || c.behind(w.now.Unix())
		}
	}
	if !late { // one is enough to write them all
		return nil
	}
	for _, c := range w.mem.clusters {
		c.stored = c.made
	}
	return w.h.clusters.hear(ctx, list, w.now.Unix())
}

// beatRow is for a bulk statement.
type beatRow struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
	Made int64  `json:"made"`
	TTL  int64  `json:"ttl"`
}

// behind tells whether the table is to learn when a cluster was last heard of.
func (c *cluster) behind(now int64) bool { return c.stored < c.made && now-c.stored > c.ttl/2 }

// mark works out what agents are told of bookings, and what their lists of them are held against.
func (m *memory) mark(now int64) {
	for _, c := range m.clusters {
		c.mark, c.booked = 0, c.booked[:0]
	}
	for _, e := range m.jobs.places() {
		j := e.Job
		if j.Booking == nil || j.State != Booked && j.State != Sent && j.State != Running {
			continue
		}
		if c := m.clusters[j.Booking.Cluster]; c != nil {
			if c.booked = append(c.booked, j); j.Booking.To > now {
				c.mark += e.mark
			}
		}
	}
}

// bookings is what an answer says of a cluster's bookings, unless they have the mark of
// what its agent knows; nil: the table has to be asked.
func (m *memory) bookings(cluster, known string, now int64) *wire.Ack {
	c := m.clusters[cluster]
	if c == nil {
		return nil
	}
	if c.mark.String() == known {
		return &wire.Ack{Same: true}
	}
	if slices.ContainsFunc(c.booked, func(j *Job) bool { return j.Booking.body == nil }) {
		return nil
	}
	slices.SortFunc(c.booked, func(a, b *Job) int {
		x, y := a.Booking.body, b.Booking.body
		return cmp.Or(cmp.Compare(x.From, y.From), strings.Compare(x.Key, y.Key))
	})
	ack := &wire.Ack{Bookings: make([]wire.Booking, 0, len(c.booked))}
	for _, j := range c.booked {
		if j.Booking.To > now {
			b := *j.Booking.body
			b.Running = j.State == Running
			ack.Bookings = append(ack.Bookings, b)
		}
	}
	return ack
}

// idles tells whether a cycle would find nothing to do: no message, and nothing in
// memory that waits, or whose time has come.
func idles(ctx context.Context, s *Scheduler, m *memory, now time.Time) bool {
	at := now.Unix()
	if !s.conf.NoHistory && at-m.sampled >= sampleWait {
		return false
	}
	for _, c := range m.clusters {
		if c.changed || c.behind(at) {
			return false
		}
	}
	if m.anyToPlan() {
		return false
	}
	limit := now.Add(-s.conf.Grace).Unix()
	for _, e := range m.jobs.places() { // none waits
		if e.late(limit) || m.untold(e.Job, at) {
			return false
		}
	}
	quiet := false
	err := s.store.read(ctx, func(h handle) (err error) { quiet, err = h.reign.quiet(ctx, m); return err })
	return err == nil && quiet
}
