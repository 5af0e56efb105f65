package scheduler

import (
	"testing"

	"gridbroker/plugins"
)

// holdOne holds a job of somebody's, or releases it.
func holdOne(w *world, owner, id string, hold bool) error {
	there, err := setHold(w.t.Context(), w.s, Person{Subject: owner}, []string{id}, hold)
	if err == nil && !there[id] {
		err = ErrNoJob
	}
	return err
}

// steer has a job held or released by its owner.
func (w *world) steer(id string, hold bool) {
	w.t.Helper()
	if hold {
		w.onHold[id] = true
	}
	owner := w.job(id).Owner
	w.survives(func() error { return holdOne(w, owner, id, hold) })
}

// steered is how a job is that was held or released so many steps ago.
func (w *world) steered(id string, hold bool, steps int) *Job {
	w.t.Helper()
	w.steer(id, hold)
	for range steps {
		w.step(30)
		w.check()
	}
	return w.job(id)
}

// holdSome has one of the jobs held now and then, and another one released.
func (w *world) holdSome(jobs []string) {
	if len(jobs) == 0 {
		return
	}
	if w.r.IntN(30) == 0 {
		w.steer(jobs[len(jobs)-1-w.r.IntN(min(5, len(jobs)))], true) // of the newest, few of which have begun
	}
	if w.r.IntN(10) == 0 {
		w.steer(jobs[w.r.IntN(len(jobs))], false)
	}
}

// checkHeld looks at what must hold of a job at every moment: while it is held it is not booked, and where it waits it runs nowhere.
func (w *world) checkHeld(j *Job) {
	w.t.Helper()
	if !j.OnHold {
		return
	}
	if j.Booking != nil && j.Booking.Made == w.now.Unix() {
		w.t.Fatalf("job %s is held, and was booked: %+v", j.ID, j.Booking)
	}
	for _, s := range w.sites {
		if j.State == Waiting && s.live[j.ID] > 0 {
			w.t.Fatalf("job %s is held, and runs at %s", j.ID, s.name)
		}
	}
}

// ran checks that a job that was released has run to its end, once.
func (w *world) ran(id string, sent int) {
	w.t.Helper()
	if j := w.steered(id, false, 60); j.State != Done || w.sites["c0"].runs[id] != 1 || len(w.sites["c0"].guests) != sent {
		w.t.Errorf("released it is %s, and ran %d times; %d were sent", j.State, w.sites["c0"].runs[id], len(w.sites["c0"].guests))
	}
}

// A job that waits is held before it was planned: it keeps its place, is shown as held, and why, and is planned when it is
// released. Who is not its owner is told that there is no such job.
func TestHeldWhileWaiting(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	id := w.submit("alice", "k", 600)
	if err := holdOne(w, "bob", id, true); err != ErrNoJob {
		t.Errorf("bob holds it: %v", err)
	}
	j := w.steered(id, true, 20)
	if v := view(j, false); j.State != Waiting || j.Tries != 0 || v.Plugins != plugins.Held || v.Reason != heldByOwner {
		t.Errorf("held it is %s (%s: %s) after %d bookings", j.State, v.Plugins, v.Reason, j.Tries)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || r.Text[0] != heldByOwner {
		t.Errorf("why: %v, %v", r.Text, err)
	}
	if row := waitling(j, w.now.Unix()); row.Where != "not yet: "+heldByOwner {
		t.Errorf("the page says %q", row.Where)
	}
	w.ran(id, 1)
}

// One that is booked and not sent gives back its slot and its fee in the cycle that takes its owner's word.
func TestHeldWhileBooked(t *testing.T) {
	w, id := booked(t)
	if err := holdOne(w, "alice", id, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
		t.Fatal(err)
	}
	if j := w.job(id); j.State != Waiting || j.Booking != nil || j.Misses != 0 || w.left("alice") != w.conf.Budget {
		t.Errorf("it is %s, booked %v, %d misses; she has %v of %v", j.State, j.Booking, j.Misses, w.left("alice"), w.conf.Budget)
	}
	if ack, err := w.store.Have(t.Context(), "c0", w.now); err != nil || len(ack.Bookings) != 0 {
		t.Errorf("the site is still told of %v, %v", ack.Bookings, err)
	}
	if w.steered(id, true, 10); len(w.sites["c0"].guests) != 0 {
		t.Error("it was sent")
	}
	w.ran(id, 1)
}

// One that waits at its site for its slot is taken back from there, whatever its fallback says, and one that is on its way
// when it has arrived. The cluster is not avoided for that.
func TestHeldAtItsSite(t *testing.T) {
	for name, way := range map[string]func(w *world, id string){
		"there": func(*world, string) {},
		"on its way": func(w *world, id string) {
			list, err := outbox{w.s}.claim(w.t.Context(), "sim", w.now, 10)
			if err != nil || len(list) != 1 || list[0].Verb != launch {
				w.t.Fatal(list, err)
			}
			outbox{w.s}.attempt(w.t.Context(), list[0], &result{Action: list[0].ID, Job: id, Verb: launch, Key: list[0].Key}) // and its sender dies
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqliteDSN(t), 3, 0, 6)
			c0 := w.sites["c0"]
			w.step(30) // the site is heard of
			got, err := w.s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: "k", Fallback: Stay, JDL: `[ Executable = "/bin/true"; WallTime = 600; Requirements = true; ]`}})
			if err != nil {
				t.Fatal(err)
			}
			id := got[0].ID
			if name == "there" {
				for w.job(id).State != Sent {
					w.step(1)
				}
			} else if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil || w.job(id).State != Booked {
				t.Fatal(w.job(id).State, err)
			}
			way(w, id)
			for _, g := range c0.guests {
				g.begin = w.now.Unix() + 3600 // the site takes its time
			}
			j := w.steered(id, true, 10)
			if j.State != Waiting || j.Booking != nil || j.Misses != 0 || len(j.Avoid) != 0 || w.left("alice") != w.conf.Budget {
				t.Errorf("it is %s, booked %v, %d misses, avoids %v; she has %v of %v", j.State, j.Booking, j.Misses, j.Avoid, w.left("alice"), w.conf.Budget)
			}
			for _, g := range c0.guests {
				if g.state != plugins.Cancelled {
					t.Errorf("at its site it is %s", g.state)
				}
			}
			w.ran(id, 2)
		})
	}
}

// One that has begun runs on, and one that has ended stays so; a hold that is taken back at once leaves the job as it was,
// and a held job is cancelled as any other.
func TestHeldTooLate(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	id, other := w.submit("alice", "k", 3600), w.submit("alice", "k2", 600)
	w.steered(other, true, 1)
	for range 10 {
		if w.step(30); w.job(id).State == Running {
			break
		}
	}
	if j := w.steered(id, true, 1); j.State != Running || j.OnHold {
		t.Errorf("it is %s, on hold %v", j.State, j.OnHold)
	}
	for range 130 {
		w.step(30)
	}
	if j := w.steered(id, true, 2); j.State != Done || j.OnHold {
		t.Errorf("ended, it is %s, on hold %v", j.State, j.OnHold)
	}
	if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, other); err != nil {
		t.Fatal(err)
	}
	w.step(1)
	if j := w.job(other); j.State != Cancelled || j.Tries != 0 {
		t.Errorf("the held one is %s", j.State)
	}
}

// One that begins before it can be taken back runs on; where it gives way to a local job after that it is planned again, as its
// owner was told that it was not held.
func TestHeldAsItBegins(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	c0 := w.sites["c0"]
	w.step(30)
	id := w.submit("alice", "k", 3600)
	for w.job(id).State != Sent {
		w.step(1)
	}
	first := id + "-1"
	c0.guests[first].begin = 0
	c0.tryStart(first, w.now.Unix())
	if j := w.steered(id, true, 2); j.State != Running || c0.guests[first].state != plugins.Running {
		t.Fatalf("it is %s, and %s at its site", j.State, c0.guests[first].state)
	}
	c0.free(c0.guests[first], w.now.Unix())
	c0.live[id]--
	c0.guests[first].state, c0.guests[first].native, c0.guests[first].ended = plugins.Cancelled, "PREEMPTED", w.now.Unix()
	for range 200 {
		w.step(30)
	}
	if j := w.job(id); j.State != Done || c0.runs[id] != 1 {
		t.Errorf("it is %s, on hold %v, after %d runs", j.State, j.OnHold, c0.runs[id])
	}
}
