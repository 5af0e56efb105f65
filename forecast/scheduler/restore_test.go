package scheduler

import (
	"path/filepath"
	"testing"

	"gridbroker/testdata/testbed"
)

// An older copy of the database is brought back: no job of it runs twice, and
// all end.
func TestRestoredCopy(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(3) {
		w := newWorld(t, sqliteDSN(t), seed, 0, 8, 4)
		var jobs []string
		day := func(steps int, more bool) {
			for i := range steps {
				if more && i%3 == 0 {
					jobs = append(jobs, w.submit("alice", w.now.String(), 120+w.r.IntN(1200)))
				}
				if w.step(30); !more && len(w.s.mem.jobs) == 0 {
					return
				}
			}
		}
		day(40, true)
		copied := filepath.Join(t.TempDir(), "copy.db")
		if _, err := w.store.db.Exec("vacuum into $1", copied); err != nil {
			t.Fatal(err)
		}
		day(50, false)
		seal := w.store.seal
		w.store.Close()
		store, err := OpenStore("sqlite:"+copied, seal)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if err := store.Restored(t.Context(), w.now); err != nil {
			t.Fatal(err)
		}
		w.store = store
		w.store.commit = w.commit
		w.restart()
		day(900, false)
		w.settled(jobs)
	}
}
