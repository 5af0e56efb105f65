package clock

import (
	"testing"
	"time"
)

// Those who wait are woken in the order of their times, each at its own.
func TestVirtual(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := NewVirtual(start)
	late, early, now := v.After(2*time.Minute), v.After(time.Minute), v.After(0)
	if got := <-now; !got.Equal(start) {
		t.Errorf("after nothing: %s", got)
	}
	if next, ok := v.Next(); !ok || !next.Equal(start.Add(time.Minute)) {
		t.Errorf("next %s %v", next, ok)
	}
	v.Advance(start.Add(90 * time.Second))
	if got := <-early; !got.Equal(start.Add(time.Minute)) {
		t.Errorf("woken at %s", got)
	}
	select {
	case <-late:
		t.Error("woken before its time")
	default:
	}
	if got := Read(v).Up; got != start.Add(90*time.Second).Sub(time.Unix(0, 0)) {
		t.Errorf("reading %s", got)
	}
	v.Advance(start) // never back
	if !v.Now().Equal(start.Add(90 * time.Second)) {
		t.Error("went back")
	}
	v.Advance(start.Add(time.Hour))
	if got := <-late; !got.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("woken at %s", got)
	}
}

// The steady reading does not follow a clock that is set.
func TestSteady(t *testing.T) {
	shift := time.Duration(0)
	w := Wall{Time: func() time.Time { return time.Now().Add(shift) }}
	before := Read(w)
	shift = 24 * time.Hour
	passed, ok := Read(w).Since(before)
	if _, _, has := awake(); !has {
		t.Skip("this system tells no time since its start")
	}
	if !ok || passed < 0 || passed > time.Minute {
		t.Errorf("%s passed, %v", passed, ok)
	}
	if _, ok := (Reading{Start: "b", Up: 5}).Since(Reading{Start: "a"}); ok {
		t.Error("readings of two starts were compared")
	}
}

// How long ago something was is told by whichever says more: the clock, which
// goes on while the machine sleeps, or the time that the program has run.
func TestPassed(t *testing.T) {
	then := time.Now()
	later := then.Add(time.Hour)
	if got := Passed(then, later); got != time.Hour {
		t.Errorf("%s passed, want an hour", got)
	}
	if got := Passed(then.Round(0).Add(-24*time.Hour), later); got != 25*time.Hour {
		t.Errorf("with a day more by the clock: %s passed", got)
	}
}
