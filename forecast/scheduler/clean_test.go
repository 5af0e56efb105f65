package scheduler

import (
	"database/sql"
	"testing"
	"time"
)

// brought is a job that has ended and whose output was brought.
func brought(t *testing.T) (w *world, id string) {
	w = newWorld(t, sqliteDSN(t), 3, 0, 6)
	id = w.submit("alice", "k", 600)
	for range 60 {
		if w.step(30); w.job(id).State == Done {
			return w, id
		}
	}
	t.Fatal(w.job(id).State)
	return nil, ""
}

// What a site has of a job that was brought can be found there for as long as the configuration says, and is removed then; a
// site that cannot is asked again. The job itself stays.
func TestKeptAtSites(t *testing.T) {
	w, id := brought(t)
	site := w.sites["c0"]
	w.step(int64(w.conf.KeepAtSites/time.Second) - 60)
	if len(site.guests) != 1 {
		t.Fatal("it was removed too early")
	}
	w.fault, w.store.commit = 1, (*sql.Tx).Commit // nothing can be done at the site
	w.now = w.now.Add(2 * time.Minute)
	for _, a := range w.claimed(1) {
		(outbox{w.s}).act(t.Context(), a)
	}
	w.fault = 0
	w.claimed(0)
	w.now = w.now.Add(cleanAgain)
	w.step(1)
	if _, err := w.s.Jobs(t.Context(), Person{Subject: "alice"}, []string{id}); len(site.guests) != 0 || err != nil || w.job(id).State != Done {
		t.Errorf("%d at the site, %v", len(site.guests), err)
	}
	w.now = w.now.Add(time.Hour)
	w.claimed(0)
}

// Who wants a job forgotten has it removed from its site at once, and from the table when it is; a site that never
// answers, or a credential that has run out for good, keeps it there for a day.
func TestForgottenAtItsSite(t *testing.T) {
	for _, lapsed := range []bool{false, true} {
		w, id := brought(t)
		if lapsed {
			w.delegate("alice", time.Minute)
			w.s.conf.KeepAtSites = 48 * time.Hour
			w.now = w.now.Add(30 * time.Hour)
		}
		forgotten := func() bool {
			list, err := w.s.Jobs(t.Context(), Person{Admin: true}, []string{id})
			if err != nil {
				t.Fatal(err)
			}
			return len(list) == 0
		}
		if err := w.s.Forget(t.Context(), Person{Subject: "alice"}, id); err != nil {
			t.Fatal(err)
		}
		if w.step(1); lapsed {
			if err := w.s.Forget(t.Context(), Person{Subject: "alice"}, id); err != nil { // once more
				t.Error(err)
			}
			if w.step(1); forgotten() || len(w.sites["c0"].guests) != 1 {
				t.Error("it is forgotten, and its site has it")
			}
			w.now = w.now.Add(renewDay*time.Second + w.s.conf.KeepAtSites)
			w.step(1)
		} else if len(w.sites["c0"].guests) != 0 {
			t.Error("its site has it still")
		}
		if !forgotten() {
			t.Errorf("it is not forgotten (%v)", lapsed)
		}
		w.claimed(0)
		if err := w.s.Forget(t.Context(), Person{Subject: "alice"}, id); err == nil {
			t.Error("it can be forgotten again")
		}
	}
}

// A replica of a version that removes nothing at sites closes what it takes up of that; a newer one does it none the less.
func TestCleanedBesideAnOlderReplica(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		w, id := brought(t)
		if forgotten {
			if err := w.s.Forget(t.Context(), Person{Subject: "alice"}, id); err != nil {
				t.Fatal(err)
			}
			if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.Add(w.conf.KeepAtSites)
		a := w.claimed(1)[0]
		err := w.store.tx(t.Context(), func(h handle) error { // as that one closes it
			_, err := h.exec(t.Context(), "update action set done = 1, result = 'no such action' where id = $1", a.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(10 * time.Minute)
		if w.step(1); len(w.sites["c0"].guests) != 1 {
			t.Fatal("it was removed")
		}
		if err := tidyUp(t.Context(), w.s); err != nil {
			t.Fatal(err)
		}
		w.step(1)
		list, err := w.s.Jobs(t.Context(), Person{Admin: true}, []string{id})
		if err != nil || len(w.sites["c0"].guests) != 0 || (len(list) == 0) != forgotten {
			t.Errorf("%d at its site, %d in the table, forgotten: %v, %v", len(w.sites["c0"].guests), len(list), forgotten, err)
		}
		w.claimed(0)
	}
}
