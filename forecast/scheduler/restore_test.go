package scheduler

import (
	"fmt"
	"path/filepath"
	"testing"

	"gridbroker/jdl"
	"gridbroker/plugins"
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
				if w.step(30); !more && len(w.s.mem.jobs.of) == 0 {
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

// A copy of the database is from before a job was sent, by the booking that the copy knows or by later ones: at its site it is
// found by the number that it had come to, is followed and not sent again, and its next request has a number that was never used.
// What was withdrawn there is not taken for it.
func TestRestoredFromBeforeItWasSent(t *testing.T) {
	for _, c := range []struct {
		booked, at int // numbers of the request that it is booked for now, and of the one at the site
		withdrawn  bool
	}{{1, 3, false}, {2, 1, false}, {2, 1, true}, {1, 2, true}} {
		w, a := due(t)
		j := w.job(a.Job)
		if err := w.store.Restored(t.Context(), w.now); err != nil {
			t.Fatal(err)
		}
		site, name := w.sites["c0"], fmt.Sprint(j.ID, "-", c.at)
		req := plugins.Request{ID: name, Job: sent(t, j), Endpoint: w.s.conf.siteOf(j.Booking), Booking: &plugins.Booking{}}
		if got := site.Submit(t.Context(), []plugins.Request{req}, nil); got[0].Err != nil {
			t.Fatal(got[0].Err)
		}
		if c.withdrawn {
			site.guests[name].state = plugins.Cancelled
		}
		j.Tries = c.booked
		reg, release, err := w.s.open(t.Context(), j.Owner, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		var r result
		again, known := (outbox{w.s}).known(t.Context(), j, reg, &r)
		if again != 0 || known == c.withdrawn || known && r.Handle.ID != name || r.Number != c.at {
			t.Errorf("%+v: again in %v, known %v, %s %+v, number %d", c, again, known, r.Said, r.Handle, r.Number)
		}
	}
	w, a := due(t)
	j := w.s.mem.jobs.job(a.Job)
	(&work{s: w.s, mem: w.s.mem, now: w.now, changed: map[string]*Job{}}).launched(j, result{Handle: plugins.Handle{ID: "x"}, Number: 7})
	if j.State != Sent || j.Past != 7 {
		t.Errorf("%s, past %d", j.State, j.Past)
	}
}

func sent(t *testing.T, j *Job) *jdl.Job {
	t.Helper()
	job, err := j.description()
	if err != nil {
		t.Fatal(err)
	}
	return job
}
