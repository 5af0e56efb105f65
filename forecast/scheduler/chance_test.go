package scheduler

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// Of a slot that is partly booked the rest begins later, and is told with the chance
// of slots that begin then, 0.89, and of its risk as the only one.
func TestSlotsBehindBookings(t *testing.T) {
	now := int64(1_000_000)
	c := &cluster{name: "c", set: &wire.Set{}, made: now, ttl: 100, number: map[string]int32{"n": 0}, class: map[string]uint16{},
		site: wire.Site{Chances: []wire.Chance{{Ahead: 0, Start: 0.99}, {Ahead: 3600, Start: 0.79}}}}
	c.set.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now, To: now + 10_000, Start: 0.98, Hold: 0.6})
	m := newMemory(0)
	m.clusters["c"] = c
	m.jobs.enter(&Job{ID: "j", State: Sent, Wall: 1800, Booking: &Place{Cluster: "c", From: now + 60, To: now + 1860, Parts: []Share{{Slot: 1, Node: "n", CPUs: 1}}}})
	in := &inputs{rules: plan.Rules{Clusters: []plan.Cluster{{TMin: 30}}}}
	in.addSlots(c, 0, m.busy(now)["c"], now)
	got := ""
	for _, v := range in.slots {
		got += fmt.Sprintln(v.From, v.To, v.Start)
	}
	if want := "1860 10000 91\n0 60 98\n"; got != want {
		t.Errorf("slots:\n%swant:\n%s", got, want)
	}
	p := Config{}.withDefaults().planned(c, now)
	if len(p.Later) != 2 || p.Later[1].After != int32(time.Hour/time.Second) || p.Later[1].Start != 79 {
		t.Errorf("planning is told %v", p.Later)
	}
}

// An agent is told which of the bookings at its site are of jobs that run: it learns
// from them what its slots were worth.
func TestAgentsHearWhichGuestsRun(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 1, 0, 4)
	id := w.submit("alice", "k", 600)
	ran := false
	for range 40 {
		w.step(10)
		j := w.job(id)
		if j.Booking == nil || j.State == Collecting || j.State.Final() {
			continue
		}
		ack, err := w.store.Have(t.Context(), j.Booking.Cluster, w.now)
		if err != nil || len(ack.Bookings) != 1 {
			t.Fatalf("%s: %+v, %v", j.State, ack.Bookings, err)
		}
		if ack.Bookings[0].Running != (j.State == Running) {
			t.Errorf("of a job that is %s the agent hears %+v", j.State, ack.Bookings[0])
		}
		ran = ran || j.State == Running
	}
	if !ran {
		t.Error("the job never ran")
	}
}

// A slot that is not sure enough is an outlook for a job until its patience ends, and
// then booked.
func TestSureSlotsFirst(t *testing.T) {
	store, err := OpenStore(sqliteDSN(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var set wire.Set
	set.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix(), Start: 0.8, Hold: 0.7})
	d := set.Whole()
	d.Cluster, d.Seq, d.Made, d.TTL = "c", 1, now.Unix(), 3600
	d.Load, d.Site = &wire.Load{CPUs: 1}, &wire.Site{LRMS: "slurm", Start: wire.Begin, Nodes: []wire.Node{{Name: "n", CPUs: 1, Up: true}}}
	if _, err := store.ingest(t.Context(), d, nil, now, nil); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Sure: 0.95, Patience: time.Minute, Clusters: map[string]ClusterConfig{"c": {}}}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if _, err := s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; WallTime = 600; ]`}}); err != nil {
		t.Fatal(err)
	}
	turns, err := NewTurns(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Report{{}, {Outlooks: 1}, {Booked: 1}} { // the first cycle of a leader writes no outlooks
		if want.Booked > 0 {
			now = now.Add(time.Minute)
		}
		r, err := s.Cycle(t.Context(), turns.epoch)
		if err != nil || r.Jobs != 1 || r.Booked != want.Booked || r.Outlooks != want.Outlooks {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
	}
}
