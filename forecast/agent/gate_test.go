package agent

import (
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// held is a cluster of four nodes of which a guest has one and a local job waits for all;
// others run on the other three where that is said.
func held(now time.Time, busy bool) (batch.State, []wire.Booking) {
	s := batch.State{Now: now, Queues: []batch.Queue{{Name: "all"}}}
	for _, n := range []string{"n0", "n1", "n2", "n3"} {
		s.Nodes = append(s.Nodes, batch.Node{Name: n, CPUs: 8, Up: true})
		j := batch.Job{ID: "on" + n, User: "u", Queue: "all", Procs: 8, Requested: time.Hour, Submitted: now.Add(-time.Hour), Started: now.Add(-time.Minute), Placed: []batch.Placement{{Node: n, Procs: 8}}}
		if n == "n3" || busy {
			s.Jobs = append(s.Jobs, j)
		}
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "wide", User: "u", Queue: "all", Procs: 32, Requested: time.Hour, Submitted: now.Add(-time.Hour)},
		batch.Job{ID: "held", User: "u", Queue: "all", Procs: 32, Requested: time.Hour, Submitted: now.Add(-time.Hour), Held: true})
	begun := now.Add(-time.Minute).Unix()
	return s, []wire.Booking{{Key: "k", Procs: 8, Way: wire.Begin, From: begun, To: begun + 3600, Running: true}}
}

// look shows a gate a state.
func look(t *testing.T, g *gate, s batch.State, booked []wire.Booking) []batch.Slot {
	t.Helper()
	by := batch.Policy{Name: "easy"}
	live, err := (&batch.Forecaster{Policy: by, Belief: batch.Estimate{}}).Live(s)
	if err != nil {
		t.Fatal(err)
	}
	f := live.Near(6 * time.Hour)
	if err := g.look(s, f, booked, by, func() time.Time { return s.Now }); err != nil {
		t.Fatal(err)
	}
	return g.offer(s, f, booked)
}

// A local job waits for guests as long as it would start if they were not there.
func TestLocalJobsThatWaitForGuestsAreSeen(t *testing.T) {
	for name, v := range map[string]struct {
		busy bool
		set  func(b *wire.Booking)
		want float64 // of ten minutes
	}{
		"a guest is in its way":       {false, func(*wire.Booking) {}, 600},
		"local jobs are, too":         {true, func(*wire.Booking) {}, 0},
		"it is no guest":              {false, func(b *wire.Booking) { b.Procs = 4 }, 0},
		"it had its turn":             {false, func(b *wire.Booking) { b.Way = wire.InTurn }, 0},
		"what is booked runs not yet": {false, func(b *wire.Booking) { b.Running = false }, 0},
	} {
		g := newGate(Config{Horizon: 6 * time.Hour, Loss: 3})
		s, booked := held(time.Unix(1_800_000_000, 0).UTC(), v.busy)
		v.set(&booked[0])
		for range 11 {
			look(t, g, s, booked)
			s.Now = s.Now.Add(time.Minute)
		}
		if g.loss.Waited < 599 || g.loss.Waited > 600 || g.loss.Lost > g.loss.Waited || g.loss.Lost < v.want-1 || g.loss.Lost > v.want {
			t.Errorf("%s: %+v, want %v s of 600 lost", name, g.loss, v.want)
		}
	}
}

// Guests are let in as what they cost stays within the bound: shorter ones as it is used up,
// none beyond it, and again when local jobs have waited long enough for other reasons.
func TestGuestsAreLetInWithinTheBound(t *testing.T) {
	g := newGate(Config{Horizon: 6 * time.Hour, Loss: 3})
	now := time.Unix(1_800_000_000, 0).UTC()
	s, booked := held(now, false)
	s.Jobs = s.Jobs[:1] // nobody waits: three nodes are free
	if list := look(t, g, s, booked); len(list) == 0 || g.maxSlot() != 0 {
		t.Fatalf("before anything was seen %v are offered, for %d s", list, g.maxSlot())
	}
	var lengths []int64
	for m := range 15 * 10 { // the guest keeps a job waiting
		s, booked = held(now.Add(time.Duration(4*m)*time.Minute), false)
		booked[0].To = s.Now.Unix() + 3540
		look(t, g, s, booked)
		lengths = append(lengths, g.maxSlot())
	}
	s.Jobs = s.Jobs[:1]
	if list := look(t, g, s, booked); len(list) != 0 || g.longest != 0 {
		t.Errorf("after ten hours lost %v are offered for %v: %v", list, g.longest, lengths)
	}
	short := 0
	for _, l := range lengths {
		if l > 0 && l < 3600 {
			short++
		}
	}
	if short == 0 {
		t.Errorf("guests never became shorter: %v", lengths)
	}
	for m := range 200 * 15 { // 200 hours waited for local jobs alone
		s, booked = held(now.Add(time.Duration(4*m+600)*time.Minute), true)
		look(t, g, s, booked)
	}
	s.Jobs = s.Jobs[:1]
	if list := look(t, g, s, booked); len(list) == 0 || g.maxSlot() == 0 {
		t.Errorf("after that %v are offered, for %d s, with %.4f lost", list, g.maxSlot(), g.loss.share())
	}
	g.Conf.Loss = 0
	if g.longest = 0; len(look(t, g, s, booked)) == 0 {
		t.Error("an owner who holds nothing has his site closed")
	}
}
