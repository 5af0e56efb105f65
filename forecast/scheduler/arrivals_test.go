package scheduler

import (
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A leader has the full sets that its own process took in without reading them back,
// those that another replica took in or that a delta has changed since from the table,
// and none that was not committed.
func TestWholeSetsAreHandedOver(t *testing.T) {
	eachStore(t, func(t *testing.T, store *Store) {
		other, err := OpenStore(store.dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		now := time.Now()
		s := New(Config{Name: "leader"}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		leader, err := NewTurns(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		take := func(to *Store, d *wire.Delta, seq uint64) error {
			d.Cluster, d.Seq, d.Made, d.TTL, d.Site = "c", seq, now.Unix(), 600, &wire.Site{Start: wire.Begin}
			text, err := new(wire.Packer).Delta(d)
			if err != nil {
				t.Fatal(err)
			}
			_, err = to.ingest(t.Context(), d, text, now, nil)
			return err
		}
		var set wire.Set
		set.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		has := func(when string) {
			t.Helper()
			if err := leader.Take(t.Context()); err != nil {
				t.Fatal(when, err)
			}
			if c := s.mem.clusters["c"]; c == nil || c.set.Digest() != set.Digest() || len(store.fresh.sets) != 0 {
				t.Errorf("%s: the leader has not the slots, or %d sets are left", when, len(store.fresh.sets))
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(take(store, set.Whole(), 1))
		has("read at the beginning")
		set.Put(wire.Slot{ID: 2, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		must(take(store, set.Whole(), 2))
		_, err = store.db.ExecContext(t.Context(), "delete from content")
		must(err)
		has("handed over")
		set.Put(wire.Slot{ID: 3, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		must(take(other, set.Whole(), 3))
		has("taken in by another")
		set.Drop(3)
		must(take(store, set.Whole(), 4))
		all, _ := set.Slot(1)
		next := set.Clone()
		must(take(other, next.Diff([]wire.Slot{all}), 5))
		set = next
		has("overtaken by a delta")
		for seq, when := range []string{6: "a delta handed over", "a delta that is in the table alone"} {
			if when == "" {
				continue
			}
			next = set.Clone()
			one, _ := set.Slot(1)
			d := next.Diff([]wire.Slot{one, {ID: uint64(seq), Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1}})
			d.Cluster, d.Seq, d.Made, d.TTL = "c", uint64(seq), now.Unix(), 600
			if ack, err := (Listener{s}).Ingest(t.Context(), d, nil); err != nil || ack.Resync || len(store.fresh.deltas["c"]) != 1 {
				t.Fatal(when, ack, err, store.fresh.deltas)
			}
			if seq == 7 {
				store.fresh.keep(true)
			}
			set = next
			has(when)
			if len(store.fresh.deltas["c"]) != 0 {
				t.Errorf("%s: %d deltas are left", when, len(store.fresh.deltas["c"]))
			}
		}
		store.commit = func(*sql.Tx) error { return errors.New("no") }
		set.Put(wire.Slot{ID: 4, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		if err := take(store, set.Whole(), 8); err == nil || len(store.fresh.sets) != 0 {
			t.Errorf("not committed: %v, %d sets kept", err, len(store.fresh.sets))
		}
	})
}
