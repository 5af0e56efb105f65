package scheduler

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A leader answers beats out of its memory, and the table is never so old that another
// leader would take the cluster for silent; one that is not of the last delta is asked for
// all, and the bookings are told to an agent that shows another mark.
func TestBeatsAreKept(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 4)
	ahead := 0
	for range 60 {
		w.step(10)
		list, err := w.store.Clusters(t.Context(), w.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if !c.Fresh {
				t.Errorf("%s is silent in the table, made %d of %d", c.Name, c.Made, w.now.Unix())
			}
			if w.s.mem.clusters[c.Name].made > c.Made {
				ahead++
			}
		}
	}
	if w.beats == 0 || ahead == 0 {
		t.Fatalf("%d beats, %d times newer than the table", w.beats, ahead)
	}
	c := w.s.mem.clusters[w.names[0]]
	b := wire.Beat{Schema: wire.BeatSchema, Cluster: c.name, Seq: uint64(c.seq), Digest: c.set.Digest(), Made: w.now.Unix(), TTL: 120, Booked: "another"}
	if ack, err := (Listener{w.s}).Beat(t.Context(), &b); err != nil || ack.Same || ack.Resync {
		t.Errorf("an agent that knows other bookings is told %+v, %v", ack, err)
	}
	b.Seq++
	if ack, err := (Listener{w.s}).Beat(t.Context(), &b); err != nil || !ack.Resync || ack.Seq != uint64(c.seq) {
		t.Errorf("a beat after a delta that was lost is answered %+v, %v", ack, err)
	}
	b.Made -= 500
	if _, err := (Listener{w.s}).Beat(t.Context(), &b); err == nil {
		t.Error("a beat of long ago was taken")
	}
}

// A cluster that was heard of by a clock that is set back later is silent until it is
// heard of again, and then for as long as any other. It counted as alive for all the
// time by which the clock had been ahead.
func TestBeatsWhenTheClockIsSetBack(t *testing.T) {
	const day = 24 * 3600
	for name, table := range map[string]bool{"the leader's memory": false, "the table": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqliteDSN(t), 3, 0, 4)
			w.step(10)
			beat := func() {
				t.Helper()
				c := w.s.mem.clusters[w.names[0]]
				b := wire.Beat{Schema: wire.BeatSchema, Cluster: c.name, Seq: uint64(c.seq), Digest: c.set.Digest(), Made: w.now.Unix(), TTL: 120, Booked: c.mark.String()}
				if table {
					b.Booked = "another"
				}
				if ack, err := (Listener{w.s}).Beat(t.Context(), &b); err != nil || ack.Resync {
					t.Fatalf("%+v, %v", ack, err)
				}
			}
			fresh := func() (memory, stored bool) {
				t.Helper()
				c := w.s.mem.clusters[w.names[0]]
				list, err := w.store.Clusters(t.Context(), w.now)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range list {
					if row.Name == c.name {
						stored = row.Fresh
					}
				}
				return wire.Usable(c.made, c.ttl, w.now.Unix()), stored
			}
			set := func(seconds int64) { w.now = w.now.Add(time.Duration(seconds) * time.Second) }
			set(day)
			beat()
			set(-day)
			if memory, stored := fresh(); memory || stored {
				t.Errorf("heard of a day from now: alive in memory %v, in the table %v", memory, stored)
			}
			beat()
			if memory, stored := fresh(); !memory || !stored {
				t.Errorf("heard of now: alive in memory %v, in the table %v", memory, stored)
			}
			set(1000)
			if memory, stored := fresh(); memory || stored {
				t.Errorf("silent for long: alive in memory %v, in the table %v", memory, stored)
			}
		})
	}
}

// A cycle that has nothing to do writes nothing: not even that it was this leader's.
func TestIdleCycles(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 4)
	w.conf.NoHistory = true
	w.restart()
	w.step(10)
	w.step(10)
	commits, commit := 0, w.store.commit
	w.store.commit = func(tx *sql.Tx) error { commits++; return commit(tx) }
	for range 3 {
		if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
			t.Fatal(err)
		}
	}
	if commits > 1 { // the first may have had messages
		t.Errorf("%d transactions of three cycles with nothing to do", commits)
	}
	id := w.submit("alice", "k", 600)
	if r, err := w.s.Cycle(t.Context(), w.epoch); err != nil || r.Messages == 0 || w.s.mem.jobs.job(id) == nil {
		t.Errorf("the job that came then was not taken: %+v %v", r, err)
	}
}

// Agents are heard while the cycle before is still measured: the race detector watches.
func TestBeatsBesideCycles(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 4)
	w.step(10)
	c := w.s.mem.clusters[w.names[0]]
	b := wire.Beat{Schema: wire.BeatSchema, Cluster: c.name, Seq: uint64(c.seq), Digest: c.set.Digest(), Made: w.now.Unix(), TTL: 120, Booked: c.mark.String()}
	ctx, stop := context.WithCancel(t.Context())
	var agent sync.WaitGroup
	agent.Go(func() {
		for ctx.Err() == nil {
			if ack := (Listener{w.s}).heard(&b, b.Made, false); ack == nil {
				time.Sleep(time.Microsecond) // a cycle has the memory
			}
		}
	})
	for range 50 {
		if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
			t.Error(err)
		}
	}
	stop()
	agent.Wait()
}
