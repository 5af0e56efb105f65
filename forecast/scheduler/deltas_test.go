package scheduler

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// An agent that tells of more and more slots, a few each time, has no more taken of it than
// of one that tells of all at once; what it has stays as it was.
func TestSmallDeltasWithoutEnd(t *testing.T) {
	testbed.Computes(t)
	eachStore(t, func(t *testing.T, store *Store) {
		now := time.Now()
		s := Listener{New(Config{Name: "leader"}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))}
		slot := func(id int) wire.Slot {
			return wire.Slot{ID: uint64(id), Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1}
		}
		var set wire.Set
		most := wire.DefaultLimits().Slots
		for id := 1; id < most; id++ {
			set.Put(slot(id))
		}
		d := set.Whole()
		d.Cluster, d.Seq, d.Made, d.TTL, d.Site = "c", 1, now.Unix(), 600, &wire.Site{Start: wire.Begin}
		if ack, err := s.Ingest(t.Context(), d, nil); err != nil || ack.Resync {
			t.Fatal(ack, err)
		}
		for seq := 2; seq <= 3; seq++ { // one more is well, another is not
			next := set.Clone()
			next.Put(slot(most + seq))
			d := &wire.Delta{Base: set.Digest(), Digest: next.Digest(), Put: []wire.Slot{slot(most + seq)}, Cluster: "c", Seq: uint64(seq), Made: now.Unix(), TTL: 600}
			ack, err := s.Ingest(t.Context(), d, nil)
			if seq == 2 && (err != nil || ack.Resync) {
				t.Fatal(ack, err)
			}
			if _, refused := errors.AsType[*RefusedError](err); seq == 3 && (!refused || !strings.Contains(err.Error(), "200001 slots")) {
				t.Fatal(ack, err)
			}
			if err == nil {
				set = next
			}
		}
		if have, err := store.Have(t.Context(), "c", now); err != nil || have.Seq != 2 || have.Digest != set.Digest() {
			t.Errorf("%+v, %v", have, err)
		}
	})
}
