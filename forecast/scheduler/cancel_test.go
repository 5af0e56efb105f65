package scheduler

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// booked is a world with a job that has its slot and is not sent yet, since
// that is only done just before the slot.
func booked(t *testing.T) (w *world, id string) {
	return bookedJob(t, Submission{JDL: `[ Executable = "/bin/true"; WallTime = 600; Requirements = true; ]`})
}

// bookedJob is the same of a job of alice's.
func bookedJob(t *testing.T, job Submission) (w *world, id string) {
	w = newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.sites["c0"].start = wire.Plain
	job.Key = "k"
	got, err := w.s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{job})
	if err != nil || got[0].Error != "" {
		t.Fatal(got, err)
	}
	id = got[0].ID
	for range 3 {
		if w.step(30); w.job(id).State == Booked {
			return w, id
		}
	}
	t.Fatal(w.job(id).State)
	return nil, ""
}

func (w *world) left(user string) float64 {
	w.t.Helper()
	list, err := w.store.Budgets(w.t.Context(), user)
	if err != nil || len(list) != 1 {
		w.t.Fatal(list, err)
	}
	return list[0].Left
}

// A job that is booked and not sent yet is ended in the cycle that takes its
// owner's word: slot and fee are given back, and it is not sent.
func TestCancelledWhileBooked(t *testing.T) {
	w, id := booked(t)
	if w.left("alice") >= w.conf.Budget {
		t.Fatal("nothing was charged")
	}
	if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
		t.Fatal(err)
	}
	if j := w.job(id); j.State != Cancelled || j.Booking != nil {
		t.Errorf("it is %s, booked %v", j.State, j.Booking)
	}
	if left := w.left("alice"); left != w.conf.Budget {
		t.Errorf("she has %v of %v", left, w.conf.Budget)
	}
	ack, err := w.store.Have(t.Context(), "c0", w.now)
	if err != nil || len(ack.Bookings) != 0 {
		t.Errorf("the site is still told of %v, %v", ack.Bookings, err)
	}
	for range 10 {
		w.step(30)
	}
	if n := len(w.sites["c0"].guests); n != 0 {
		t.Errorf("%d guests were sent", n)
	}
}

// Where the launch is under way, what is at the site counts: it is ended there.
func TestCancelledWhileLaunched(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		w, id := booked(t)
		w.now = w.now.Add(60e9)
		list, err := outbox{w.s}.claim(t.Context(), "sim", w.now, 10)
		if err != nil || len(list) != 1 || list[0].Verb != launch {
			t.Fatal(list, err)
		}
		if arrives { // and its sender dies before he can say so
			outbox{w.s}.attempt(t.Context(), list[0], &result{Action: list[0].ID, Job: id, Verb: launch, Key: list[0].Key})
		}
		if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, id); err != nil {
			t.Fatal(err)
		}
		if w.step(30); w.job(id).State.Final() {
			t.Errorf("arrives %v: it is %s before anybody knows what is at the site", arrives, w.job(id).State)
		}
		for range 20 {
			w.step(30)
		}
		if j := w.job(id); j.State != Cancelled || w.sites["c0"].live[id] != 0 || len(w.sites["c0"].guests) != b2i(arrives) {
			t.Errorf("arrives %v: it is %s, %d guests, %d run", arrives, j.State, len(w.sites["c0"].guests), w.sites["c0"].live[id])
		}
		if left := w.left("alice"); left < w.conf.Budget-1 {
			t.Errorf("arrives %v: she has %v of %v", arrives, left, w.conf.Budget)
		}
	}
}

// A job that an administrator cancels is not said to have been cancelled by its owner, and its log tells who did.
func TestCancelledByAnAdministrator(t *testing.T) {
	for who, admin := range map[string]bool{"alice": false, "root": true} {
		f := newFront(t, nil)
		l := f.led()
		f.s.setLead(l.Epoch)
		id := f.submit("alice", "k", sample).ID
		if r := f.asked(t.Context(), who, "POST", "/v1/jobs/cancel", []byte(`{"ids": ["`+id+`"]}`)); r.Code != 200 {
			t.Fatal(r.Body)
		}
		if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
			t.Fatal(err)
		}
		said := f.asked(t.Context(), "alice", "GET", "/v1/jobs/"+id+"/log", nil).Body.String()
		if !strings.Contains(said, `"event":"cancelled"`) || strings.Contains(said, "owner") || strings.Contains(said, "an administrator, root, wants it") != admin {
			t.Errorf("by %s: %s", who, said)
		}
	}
}

// Many jobs are cancelled together: a transaction for each had a user of 10,000 jobs wait for longer than a request lasts. Each id is
// answered, also those that are not there, another's, or named twice.
func TestManyAreCancelledTogether(t *testing.T) {
	f := newFront(t, nil)
	var ids []string
	for i := range 250 {
		ids = append(ids, f.submit("alice", fmt.Sprint("k", i), `[ Executable = "/bin/true"; ]`).ID)
	}
	l := f.led()
	cycle := func() {
		if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	others := f.submit("bob", "k", `[ Executable = "/bin/true"; ]`).ID
	cycle()
	before, commits := f.store.commit, 0
	f.store.commit = func(tx *sql.Tx) error { commits++; return before(tx) }
	asked := append(slices.Clone(ids), others, "s0", ids[0])
	var out struct{ Jobs []Outcome }
	if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs/cancel", map[string]any{"ids": asked}, &out); code != 200 || len(out.Jobs) != len(asked) {
		t.Fatalf("%d, %d answers", code, len(out.Jobs))
	}
	f.store.commit = before
	if commits > 6 {
		t.Errorf("%d transactions", commits)
	}
	for i, o := range out.Jobs {
		if o.ID != asked[i] || (o.Error != "") != (o.ID == others || o.ID == "s0") {
			t.Errorf("%d: %+v", i, o)
		}
	}
	cycle()
	list, err := f.s.Jobs(t.Context(), Person{Admin: true}, append(slices.Clone(ids), others))
	if err != nil || len(list) != 251 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	for _, j := range list {
		if want := j.Owner == "alice"; (j.State == Cancelled) != want {
			t.Errorf("%s's job is %s", j.Owner, j.State)
		}
	}
}
