package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gridbroker/glue"
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
		w.copyTo(copied)
		day(50, false)
		seal := w.store.seal
		w.bringBack(copied, seal)
		day(900, false)
		w.settled(jobs)
	}
}

// copyTo makes a copy of the database.
func (w *world) copyTo(file string) {
	w.t.Helper()
	if _, err := w.store.db.Exec("vacuum into $1", file); err != nil {
		w.t.Fatal(err)
	}
}

// heldInCopy is a world of which a copy was made when its one job was held, to which it can go back.
func heldInCopy(t *testing.T) (w *world, id string, goBack func()) {
	t.Helper()
	w = newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.step(30)
	id = w.submit("alice", "k", 600)
	w.steered(id, true, 1)
	copied, seal := filepath.Join(t.TempDir(), "copy.db"), w.store.seal
	w.copyTo(copied)
	return w, id, func() { w.bringBack(copied, seal) }
}

// bringBack goes on with a copy.
func (w *world) bringBack(file string, seal *Seal) {
	w.t.Helper()
	w.store.Close()
	store, err := OpenStore("sqlite:"+file, seal)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { store.Close() })
	if err := store.Restored(w.t.Context(), w.now); err != nil {
		w.t.Fatal(err)
	}
	w.store, store.commit = store, w.commit
	w.restart()
}

// A job that the copy has as held was released since the copy was made: one that its site has is found there, running or done, without
// anybody's doing, and does not run a second time, also where its owner releases it before it was found. What was held again, and one
// that no site has, stays held.
func TestRestoredHeld(t *testing.T) {
	for name, c := range map[string]struct {
		since, after func(w *world, id string) // what its owner does
		seconds      int64                     // from its release until the copy is brought back
		state        State
		runs         int
	}{
		"done":                {since: release, seconds: 1800, state: Done, runs: 1},
		"running":             {since: release, seconds: 180, state: Done, runs: 1},
		"done, and released":  {since: release, after: release, seconds: 1800, state: Done, runs: 1},
		"never released":      {seconds: 1800, state: Waiting},
		"held again":          {since: func(w *world, id string) { release(w, id); w.sendOff(id); w.steered(id, true, 3) }, seconds: 600, state: Waiting},
		"held, then released": {after: release, seconds: 600, state: Done, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, id, goBack := heldInCopy(t)
			if c.since != nil {
				c.since(w, id)
			}
			for range c.seconds / 30 {
				w.step(30)
			}
			goBack()
			w.step(1)
			if c.after != nil {
				c.after(w, id)
			}
			k, err := newSeeker(t.Context(), w.s)
			if err != nil || k == nil {
				t.Fatal(k, err)
			}
			for range 60 {
				if err := k.round(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.step(30)
				w.checkHeld(w.job(id))
			}
			if sum, err := w.store.Audit(t.Context()); err != nil || sum != 0 {
				t.Errorf("the ledger adds up to %d, %v", sum, err)
			}
			if j := w.job(id); j.State != c.state || j.OnHold != (c.state == Waiting) || w.sites["c0"].runs[id] != c.runs {
				t.Errorf("it is %s, on hold %v, after %d runs; want %s after %d", j.State, j.OnHold, w.sites["c0"].runs[id], c.state, c.runs)
			}
		})
	}
}

// oneByOne is a site that is asked one thing at a time.
type oneByOne struct {
	*simSite
	mu *sync.Mutex
}

func (s oneByOne) Inventory(ctx context.Context, at glue.Endpoint) ([]plugins.Present, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.simSite.Inventory(ctx, at)
}

func (s oneByOne) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.simSite.Status(ctx, hs)
}

func (s oneByOne) Fetch(ctx context.Context, jobs []plugins.FetchRequest, said plugins.Progress) []plugins.FetchResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.simSite.Fetch(ctx, jobs, said)
}

// The replica that leads looks for them by itself.
func TestTheLeaderSeeksWhatIsHeld(t *testing.T) {
	w, id, goBack := heldInCopy(t)
	w.steered(id, false, 60)
	goBack()
	var mu sync.Mutex
	w.s.open = func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: oneByOne{w.sites["c0"], &mu}})
		return reg, func() {}, err
	}
	w.store.commit = (*sql.Tx).Commit // the world's is for one at a time
	w.s.conf.StatusEvery, w.s.conf.Cycle = 20*time.Millisecond, 100*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	var over sync.WaitGroup
	over.Go(func() { w.s.Run(ctx) })
	defer over.Wait()
	defer cancel()
	for w.job(id).State != Done {
		if ctx.Err() != nil {
			t.Fatalf("it is %s", w.job(id).State)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// release releases a job.
func release(w *world, id string) { w.t.Helper(); w.steer(id, false) }

// sendOff waits until a job is at its site, which takes its time to begin it.
func (w *world) sendOff(id string) {
	w.t.Helper()
	for w.job(id).State != Sent {
		w.step(1)
	}
	for _, g := range w.sites["c0"].guests {
		g.begin = w.now.Unix() + 3600
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
