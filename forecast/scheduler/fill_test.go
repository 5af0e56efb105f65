package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// eachStore runs a test on the embedded database and on PostgreSQL.
func eachStore(t *testing.T, run func(t *testing.T, s *Store)) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": sqliteDSN, "postgres": postgresDSN} {
		t.Run(name, func(t *testing.T) {
			s, err := OpenStore(dsn(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			run(t, s)
		})
	}
}

// A full set of any size, with names of any letters, comes out of the table as it
// was sent, in the place of the one before.
func TestFullSetsComeBack(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		now := time.Now().Unix()
		for seq, n := range []int{3*filled + 7, filled, filled + 1, 1, 0, filled - 1} {
			var set wire.Set
			d := &wire.Delta{Cluster: "c\t\\N'", Seq: uint64(seq + 1), Made: now, TTL: 600, Full: true, Site: &wire.Site{}}
			for i := range n {
				v := wire.Slot{ID: 1<<53 - uint64(i) - 1, Node: fmt.Sprintf("n\\%d\t\n\"ü", i), CPUs: 1 << 30, GPUs: 2, Memory: 1 << 40, From: now + int64(i),
					To: now + 900, Latest: now + 60, Start: 0.1 + float64(i)/1e6, Hold: 1e-9, Priority: 1e15 / 3, Task: "\\.\r" + strings.Repeat("x", i)}
				d.Put = append(d.Put, v)
				set.Put(v)
			}
			d.Digest = set.Digest()
			if _, err := s.ingest(t.Context(), d, nil, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
			err := s.read(t.Context(), func(h handle) error {
				got, err := h.clusters.slots(t.Context(), d.Cluster)
				if err == nil && (got.Len() != n || got.Digest() != set.Digest()) {
					t.Errorf("%d slots sent, %d read, digests %s and %s", n, got.Len(), set.Digest(), got.Digest())
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A full set that the table cannot take changes nothing of the cluster: neither
// its slots nor its number.
func TestFullSetWholeOrNotAtAll(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		now := time.Now()
		var set wire.Set
		v := wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1}
		set.Put(v)
		d := &wire.Delta{Cluster: "c", Seq: 1, Made: now.Unix(), TTL: 600, Full: true, Site: &wire.Site{}, Put: []wire.Slot{v}, Digest: set.Digest()}
		if _, err := s.ingest(t.Context(), d, nil, now, nil); err != nil {
			t.Fatal(err)
		}
		bad := *d
		bad.Seq, bad.Put = 2, []wire.Slot{v, v}
		if _, err := s.ingest(t.Context(), &bad, nil, now, nil); err == nil {
			t.Error("a slot that comes twice was taken")
		}
		ack, err := s.Have(t.Context(), "c", now)
		if err != nil || ack.Seq != 1 || ack.Digest != set.Digest() || ack.Resync {
			t.Errorf("after a set that was refused: %+v, %v", ack, err)
		}
		err = s.read(t.Context(), func(h handle) error {
			got, err := h.clusters.slots(t.Context(), "c")
			if err == nil && got.Digest() != set.Digest() {
				t.Errorf("%d slots are left", got.Len())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Jobs are read in the order of the queue, each with its own description, however
// many there are; one that cannot be read is named.
func TestJobsOfALongQueue(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		const jobs = 2100
		rows := make([]jobRow, jobs)
		for i := range rows {
			j := &Job{ID: fmt.Sprint("s", i), Owner: "o", Key: fmt.Sprint("k", i), Name: fmt.Sprint("job ", i), State: Waiting}
			var err error
			if rows[i], err = rowOf(j); err != nil {
				t.Fatal(err)
			}
		}
		read := func(ctx context.Context) (list []*Job, err error) {
			err = s.read(ctx, func(h handle) error {
				list, err = h.jobs(ctx, "order by seq")
				return err
			})
			return list, err
		}
		err := s.tx(t.Context(), func(h handle) error {
			_, err := queueTable{h.statements}.insert(t.Context(), rows)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := read(t.Context())
		if err != nil || len(list) != jobs {
			t.Fatalf("%d jobs, %v", len(list), err)
		}
		for i, j := range list {
			if i > 0 && j.Seq <= list[i-1].Seq || strings.TrimPrefix(j.ID, "s") != strings.TrimPrefix(j.Name, "job ") {
				t.Fatalf("place %d: %d %s %q", i, j.Seq, j.ID, j.Name)
			}
		}
		for _, at := range []int{3, jobs - 1} {
			good, _ := json.Marshal(list[at])
			put := func(body string) {
				err := s.tx(t.Context(), func(h handle) error {
					return h.write(t.Context(), "update queue set body = $2 where id = $1", list[at].ID, body)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			put("[]")
			if _, err := read(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("job %d of the queue", list[at].Seq)) {
				t.Errorf("a job that cannot be read: %v", err)
			}
			put(string(good))
		}
	})
}

// What was counted of a cluster's bookings is saved, also where the agent sends all
// its slots anew in the same cycle; and a leader that has just read the table does
// not read it again for the message about it.
func TestFullSetsKeepCounts(t *testing.T) {
	eachStore(t, func(t *testing.T, store *Store) {
		now := time.Now()
		s := New(Config{Clusters: map[string]ClusterConfig{}}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		epoch, err := takeOver(t.Context(), store, "one")
		if err != nil {
			t.Fatal(err)
		}
		full := func(seq uint64, id uint64) {
			t.Helper()
			var set wire.Set
			v := wire.Slot{ID: id, Node: "n", CPUs: 1, From: now.Unix(), Start: 1, Hold: 1}
			set.Put(v)
			d := &wire.Delta{Cluster: "c", Seq: seq, Made: now.Unix(), TTL: 600, Full: true, Site: &wire.Site{}, Put: []wire.Slot{v}, Digest: set.Digest()}
			if _, err := store.ingest(t.Context(), d, nil, now, nil); err != nil {
				t.Fatal(err)
			}
		}
		cycle := func() *cluster {
			t.Helper()
			if _, err := s.Cycle(t.Context(), epoch); err != nil {
				t.Fatal(err)
			}
			return s.mem.clusters["c"]
		}
		full(1, 1)
		c := cycle()
		full(2, 2)
		c.count(&Place{Chance: 1, Told: 1}, true)
		if c = cycle(); c.set.Len() != 1 || c.seq != 2 || c.hits != 1 {
			t.Errorf("%d slots of delta %d, %d hits", c.set.Len(), c.seq, c.hits)
		}
		s.mem = nil
		if c = cycle(); c.hits != 1 {
			t.Errorf("%d hits saved", c.hits)
		}
		full(2, 2)
		if again := cycle(); again != c {
			t.Error("what was read already was read again")
		}
		full(2, 3)
		if _, there := cycle().set.Slot(3); !there {
			t.Error("another set with the same number was not read")
		}
	})
}
