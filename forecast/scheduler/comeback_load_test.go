package scheduler

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A leader that leads again has the slots that it had in memory, where they are still those of the database, and
// need not read them; those that have changed meanwhile it reads.
func TestLeaderComesBackWithItsSlots(t *testing.T) {
	eachStore(t, func(t *testing.T, store *Store) {
		other, err := OpenStore(store.dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		now := time.Now()
		s := New(Config{Name: "leader"}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		tell := func(cluster string, seq uint64, set *wire.Set) {
			t.Helper()
			d := set.Whole()
			d.Cluster, d.Seq, d.Made, d.TTL, d.Site = cluster, seq, now.Unix(), 600, &wire.Site{Start: wire.Begin}
			if _, err := other.ingest(t.Context(), d, nil, now, nil); err != nil {
				t.Fatal(err)
			}
		}
		var same, moved wire.Set
		same.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		moved.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
		tell("same", 1, &same)
		tell("moved", 1, &moved)
		lead := func() {
			t.Helper()
			epoch, err := takeOver(t.Context(), store, "leader")
			if err == nil {
				s.setLead(epoch)
				_, err = s.Cycle(t.Context(), epoch)
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]*wire.Set{"same": &same, "moved": &moved} {
				if c := s.mem.clusters[name]; c == nil || c.set.Digest() != want.Digest() {
					t.Errorf("%s: the leader has other slots than its agent", name)
				}
			}
		}
		lead()
		s.setLead(0)
		moved.Put(wire.Slot{ID: 2, Node: "n", CPUs: 2, From: now.Unix(), Start: 1, Hold: 1})
		tell("moved", 2, &moved)
		if _, err := store.db.ExecContext(t.Context(), "delete from content where cluster = 'same'"); err != nil {
			t.Fatal(err)
		}
		lead() // the slots of "same" are nowhere but in its memory
	})
}

// A leader of a thousand clusters of 200 slots each leads again: with the slots that it had, and where
// it reads all.
func BenchmarkLeadAgain(b *testing.B) {
	store, err := OpenStore(postgresDSN(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	s := New(Config{Name: "leader"}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	var set wire.Set
	for id := range uint64(200) {
		set.Put(wire.Slot{ID: id + 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1})
	}
	for i := range 1000 {
		d := set.Whole()
		d.Cluster, d.Seq, d.Made, d.TTL, d.Site = fmt.Sprint("k", i), 1, now.Unix(), 600, &wire.Site{Start: wire.Begin}
		if _, err := store.ingest(b.Context(), d, nil, now, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, kept := range []bool{true, false} {
		b.Run(fmt.Sprint("kept=", kept), func(b *testing.B) {
			for b.Loop() {
				epoch, err := takeOver(b.Context(), store, "leader")
				if err != nil {
					b.Fatal(err)
				}
				if s.setLead(epoch); !kept {
					store.fresh = arrivals{}
				}
				if _, err = s.Cycle(b.Context(), epoch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
