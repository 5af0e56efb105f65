package agent

import (
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// Where nothing happens the scheduler hears beats in place of deltas, and nothing is
// foretold anew until what was foretold ends; what is booked is told with them. The
// scheduler that has lost its state gets all of it.
func TestBeats(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	b.later("1", true)
	b.step(a)
	b.wait(time.Second)
	b.step(a) // what was worked out when the first was told
	first, told := a.known, b.c.deltas
	for range 6 { // two minutes, a TTL
		b.wait(20 * time.Second)
		b.step(a)
	}
	b.c.with(func() {
		if b.c.full != 1 || b.c.deltas != told || told > 1 || b.c.beats != 3 {
			t.Errorf("%d full sets, %d deltas, %d beats in two minutes", b.c.full, b.c.deltas, b.c.beats)
		}
		b.c.booked = []wire.Booking{{Schema: wire.BookingSchema, Job: "j", Key: "j.1", From: b.now.Unix() + 600, To: b.now.Unix() + 1200, Procs: 1, Way: wire.Begin}}
	})
	if a.known != first {
		t.Error("what did not change was told anew")
	}
	b.wait(40 * time.Second)
	b.step(a)
	if list := bookedNow(a); len(list) != 1 || list[0].Key != "j.1" {
		t.Errorf("the agent knows the bookings %v", list)
	}
	b.c.with(func() { b.c.set.Clear(); b.c.seq = 0 })
	b.wait(40 * time.Second)
	b.step(a)
	b.wait(time.Second)
	b.step(a)
	b.same(a)
	b.c.with(func() {
		if b.c.full != 2 {
			t.Errorf("%d full sets after the scheduler had lost its own", b.c.full)
		}
	})
}

// A scheduler that knows no beats gets empty deltas.
func TestBeatsToAnOlderScheduler(t *testing.T) {
	b := newBench(t)
	b.c.old = true
	a := b.agent()
	b.later("1", true)
	b.step(a)
	for range 8 {
		b.wait(20 * time.Second)
		b.step(a)
	}
	b.same(a)
	b.c.with(func() {
		if b.c.full != 1 || b.c.deltas < 3 {
			t.Errorf("%d full sets, %d deltas", b.c.full, b.c.deltas)
		}
	})
}

// A job that is expected to end and does not is news by itself; one that nobody
// expects anything of is not.
func TestExpectedTimesAreLookedAt(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	b.now = b.now.Add(20 * time.Second)
	b.site.state.Now = b.now
	b.site.state.Jobs = []batch.Job{{ID: "1", Queue: "all", Procs: 8, Requested: 90 * time.Second, Submitted: b.now, Started: b.now,
		Placed: []batch.Placement{{Node: "n0", Procs: 8}}}}
	b.step(a)
	until := b.now.Add(90 * time.Second)
	if !a.until.Equal(until) {
		t.Fatalf("what is foretold holds until %s, want %s", a.until, until)
	}
	b.wait(89 * time.Second)
	b.step(a)
	if !a.until.Equal(until) {
		t.Error("it was foretold anew before")
	}
	b.wait(time.Second)
	b.step(a)
	if a.until.Equal(until) {
		t.Error("it was not foretold anew when the job should have ended")
	}
}
