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

// look lets an agent see a state.
func look(t *testing.T, a *Agent, s batch.State, booked []wire.Booking) {
	t.Helper()
	live, err := (&batch.Forecaster{Policy: a.Forecast.Policy, Belief: batch.Estimate{}}).Live(s)
	if err != nil {
		t.Fatal(err)
	}
	a.Now = func() time.Time { return s.Now }
	if err := a.seeLoss(s, live.Near(6*time.Hour), booked); err != nil {
		t.Fatal(err)
	}
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
		a := &Agent{Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, Meter: NewMetrics()}
		s, booked := held(time.Unix(1_800_000_000, 0).UTC(), v.busy)
		v.set(&booked[0])
		for range 11 {
			look(t, a, s, booked)
			s.Now = s.Now.Add(time.Minute)
		}
		if a.loss.Waited < 599 || a.loss.Waited > 600 || a.loss.Lost > a.loss.Waited || a.loss.Lost < v.want-1 || a.loss.Lost > v.want {
			t.Errorf("%s: %+v, want %v s of 600 lost", name, a.loss, v.want)
		}
	}
}
