package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
		known, torn, err := standing(ctx, h, cluster, "", ack)
		if ack.Resync = !known || torn; err != nil {
			return err
		}
		if ack.Good, err = goodFor(ctx, h, cluster, now.Unix()); err != nil {
			return err
		}
		return bookingsOf(ctx, h.bookings, cluster, now.Unix(), ack, "")
	})
	return ack, err
}

// forUpdate locks what is read until the transaction ends, where the store can.
const forUpdate = " {for update}"

// standing reads into an answer what the table has of a cluster; known: there is
// something, torn: not all of it.
func standing(ctx context.Context, h handle, cluster, lock string, ack *wire.Ack) (known, torn bool, err error) {
	if h.scratch != nil {
		c := h.scratch.stands[cluster]
		if c == nil {
			return false, false, nil
		}
		ack.Seq, ack.Digest = uint64(c.seq), c.digest
		return true, c.torn, nil
	}
	resync := 0
	err = h.rows(ctx, func(scan func(...any) error) error {
		known = true
		return scan(&ack.Seq, &ack.Digest, &resync)
	}, "select seq, digest, resync from cluster where name = $1"+lock, cluster)
	return known, resync != 0, err
}

// goodFor is for how many seconds more a cluster's schedule may be used, as the table has it: a beat may have told more since.
func goodFor(ctx context.Context, h handle, cluster string, now int64) (good int64, err error) {
	if h.scratch != nil {
		if c := h.scratch.stands[cluster]; c != nil && wire.Usable(c.made, c.ttl, now) {
			good = c.made + c.ttl - now
		}
		return good, nil
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var made, ttl int64
		err := scan(&made, &ttl)
		if wire.Usable(made, ttl, now) {
			good = made + ttl - now
		}
		return err
	}, "select made, ttl from cluster where name = $1", cluster)
	return good, err
}

// intake is a transaction that takes in one delta.
type intake struct {
	handle
	delta  *wire.Delta
	now    int64     // seconds of Unix time
	booked *wire.Ack // what the answer says of bookings; nil: not known
}

func (h intake) ingest(ctx context.Context, text []byte, ack *wire.Ack) error {
	known, torn, err := standing(ctx, h.handle, h.delta.Cluster, forUpdate, ack)
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
	if err := h.keepCluster(ctx); err != nil {
		return err
	}
	if err := h.keepContent(ctx); err != nil {
		return err
	}
	ack.Seq, ack.Digest = h.delta.Seq, h.delta.Digest
	m := slotsMessage{Cluster: h.delta.Cluster, Full: h.delta.Full, Seq: h.delta.Seq, Made: h.delta.Made, Digest: h.delta.Digest}
	if !h.delta.Full {
		m.Delta = text
	}
	if err := h.post(ctx, kindSlots, fmt.Sprintf("slots/%s/%d/%d", h.delta.Cluster, h.delta.Seq, h.delta.Made), m); err != nil {
		return err
	}
	h.wake()
	if h.booked != nil {
		ack.Same, ack.Bookings = h.booked.Same, h.booked.Bookings
		return nil
	}
	return bookingsOf(ctx, h.bookings, h.delta.Cluster, h.now, ack, h.delta.Booked)
}

// keepCluster changes what the tables have of a cluster itself.
func (h intake) keepCluster(ctx context.Context) error {
	if h.scratch != nil {
		h.scratch.keep(h.delta)
		return nil
	}
	if h.delta.Full {
		err := h.write(ctx, `insert into cluster (name, seq, digest, made, ttl, seen, site, queues, load)
			values ($1, 0, '', 0, 0, 0, '{}', '[]', '{}') on conflict (name) do update set resync = 0`, h.delta.Cluster)
		if err != nil {
			return err
		}
	}
	args := []any{h.delta.Cluster, h.delta.Seq, h.delta.Digest, h.delta.Made, h.delta.TTL, h.now}
	for _, part := range []struct {
		there bool
		v     any
	}{{h.delta.Site != nil, h.delta.Site}, {len(h.delta.Queues) > 0, h.delta.Queues}, {h.delta.Load != nil, h.delta.Load}} {
		if !part.there {
			args = append(args, nil)
			continue
		}
		text, err := json.Marshal(part.v)
		if err != nil {
			return err
		}
		args = append(args, string(text))
	}
	err := h.write(ctx, `update cluster set seq = $2, digest = $3, made = $4, ttl = $5, seen = $6,
		site = coalesce($7, site), queues = coalesce($8, queues), load = coalesce($9, load) where name = $1`, args...)
	if err != nil || h.delta.Site == nil {
		return err
	}
	return h.keepNodes(ctx)
}

// keepContent changes the tables of slots and of the site's own jobs.
func (h intake) keepContent(ctx context.Context) error {
	if h.scratch != nil {
		return nil
	}
	if err := h.keepSlots(ctx); err != nil {
		return err
	}
	if err := h.keepLocal(ctx); err != nil {
		return err
	}
	return h.bounded(ctx)
}

// keepNodes puts the nodes of a site in the place of what the table has of them.
func (h intake) keepNodes(ctx context.Context) error {
	if err := h.write(ctx, "delete from node where cluster = $1", h.delta.Cluster); err != nil || len(h.delta.Site.Nodes) == 0 {
		return err
	}
	rows := make([][]any, 0, len(h.delta.Site.Nodes))
	seen := make(map[string]bool, len(h.delta.Site.Nodes))
	for _, n := range h.delta.Site.Nodes {
		if seen[n.Name] { // the first counts
			continue
		}
		seen[n.Name] = true
		features := "[]"
		if len(n.Features) > 0 {
			text, err := jsonText(n.Features)
			if err != nil {
				return err
			}
			features = strings.TrimSpace(text)
		}
		rows = append(rows, []any{h.delta.Cluster, n.Name, n.CPUs, n.GPUs, n.Memory, n.Disk, features, int32(b2i(n.Up))})
	}
	return h.fill(ctx, "node", []string{"cluster", "name", "cpus", "gpus", "memory", "disk", "features", "up"}, rows)
}

// keepSlots changes the table of slots.
func (h intake) keepSlots(ctx context.Context) (err error) {
	if h.delta.Full {
		return h.fillSlots(ctx)
	}
	if len(h.delta.Drop) > 0 {
		ids := make([]string, len(h.delta.Drop))
		for i, id := range h.delta.Drop {
			ids[i] = strconv.FormatUint(id, 10)
		}
		err = h.writeEach(ctx, "delete from content where cluster = $2 and id in (select cast(t.value as {id}) from {texts})", ids, h.delta.Cluster)
	}
	if err != nil || len(h.delta.Put) == 0 {
		return err
	}
	return h.writeEach(ctx, `insert into content (cluster, id, node, cpus, gpus, memory, begins, ends, latest, chance, hold, priority, task)
		select $2, cast(t.value->>'id' as {id}), t.value->>'node', cast(t.value->>'cpus' as {int}),
		cast(coalesce(t.value->>'gpus', '0') as {int}), cast(coalesce(t.value->>'memory', '0') as {int}),
		cast(t.value->>'from' as {int}), cast(coalesce(t.value->>'to', '0') as {int}), cast(coalesce(t.value->>'latest', '0') as {int}),
		cast(t.value->>'start' as {real}), cast(t.value->>'hold' as {real}), cast(coalesce(t.value->>'priority', '0') as {real}),
		coalesce(t.value->>'task', '') from {each} where true
		on conflict (cluster, id) do update set node = excluded.node, cpus = excluded.cpus, gpus = excluded.gpus,
		memory = excluded.memory, begins = excluded.begins, ends = excluded.ends, latest = excluded.latest,
		chance = excluded.chance, hold = excluded.hold, priority = excluded.priority, task = excluded.task`, h.delta.Put, h.delta.Cluster)
}

// fillSlots puts a full set in the place of what the table has of a cluster.
func (h intake) fillSlots(ctx context.Context) error {
	if err := h.write(ctx, "delete from content where cluster = $1", h.delta.Cluster); err != nil || len(h.delta.Put) == 0 {
		return err
	}
	rows := make([][]any, len(h.delta.Put))
	for i := range h.delta.Put {
		v := &h.delta.Put[i]
		rows[i] = []any{h.delta.Cluster, int64(v.ID), v.Node, v.CPUs, v.GPUs, v.Memory, v.From, v.To, v.Latest, v.Start, v.Hold, v.Priority, v.Task}
	}
	return h.fill(ctx, "content", []string{"cluster", "id", "node", "cpus", "gpus", "memory", "begins", "ends", "latest",
		"chance", "hold", "priority", "task"}, rows)
}

// keepLocal changes the table of the site's own jobs.
func (h intake) keepLocal(ctx context.Context) (err error) {
	if err := h.bury(ctx); err != nil {
		return err
	}
	if h.delta.Full {
		err = h.write(ctx, "delete from local_job where cluster = $1", h.delta.Cluster)
	} else if len(h.delta.JobsGone) > 0 {
		err = h.writeEach(ctx, "delete from local_job where cluster = $2 and task in (select t.value from {texts})", h.delta.JobsGone, h.delta.Cluster)
	}
	if err != nil || len(h.delta.Jobs) == 0 {
		return err
	}
	return h.writeEach(ctx, `insert into local_job (cluster, task, body) select $2, t.value->>'task', cast(t.value as text) from {each} where true
		on conflict (cluster, task) do update set body = excluded.body`, h.delta.Jobs, h.delta.Cluster)
}

// bounded refuses a delta that leads to more than a full one may have: of small ones
// there is no end.
func (h intake) bounded(ctx context.Context) error {
	most := wire.DefaultLimits()
	for _, t := range []struct {
		put         int
		table, what string
		most        int
	}{{len(h.delta.Put), "content", "slots", most.Slots}, {len(h.delta.Jobs), "local_job", "jobs", most.Jobs}} {
		if h.delta.Full || t.put == 0 {
			continue
		}
		n := 0
		err := h.rows(ctx, func(scan func(...any) error) error { return scan(&n) }, "select count(*) from "+t.table+" where cluster = $1", h.delta.Cluster)
		if err != nil {
			return err
		}
		if n > t.most {
			return &RefusedError{fmt.Sprintf("the cluster would have %d %s; more than %d are not taken", n, t.what, t.most)}
		}
	}
	return nil
}

// slotsOf reads a cluster's slots.
func (h handle) slotsOf(ctx context.Context, cluster string) (*wire.Set, error) {
	set := &wire.Set{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var v wire.Slot
		err := scan(&v.ID, &v.Node, &v.CPUs, &v.GPUs, &v.Memory, &v.From, &v.To, &v.Latest, &v.Start, &v.Hold, &v.Priority, &v.Task)
		if err == nil {
			set.Put(v)
		}
		return err
	}, `select id, node, cpus, gpus, memory, begins, ends, latest, chance, hold, priority, task from content where cluster = $1`, cluster)
	return set, err
}

// askAgain makes the next delta of a cluster be refused, for a full one.
func (h handle) askAgain(ctx context.Context, cluster string) error {
	if h.scratch != nil {
		h.scratch.stands[cluster].torn = true
		return nil
	}
	_, err := h.exec(ctx, "update cluster set resync = 1 where name = $1", cluster)
	return err
}

// isMismatch tells whether a set and a delta did not go together.
func isMismatch(err error) bool {
	_, ok := errors.AsType[*wire.Mismatch](err)
	return ok
}
