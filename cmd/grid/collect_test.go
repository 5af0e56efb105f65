package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectedLate: the first collection brings back what is usual, and leaves alone what a
// command has set before it, as sim grid does.
func TestCollectedLate(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	for _, test := range []struct {
		name      string
		set, want int
	}{
		{"nothing set", 0, 100},
		{"set by the command", 400, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			debug.SetGCPercent(100)
			collectLate()
			if test.set > 0 {
				debug.SetGCPercent(test.set)
			}
			if got := settled(); got != test.want {
				t.Errorf("after the first collections %d per cent, want %d", got, test.want)
			}
		})
	}
}

// settled is the percentage once cleanups of collections have run.
func settled() (percent int) {
	for range 50 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
		percent = debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
	}
	return percent
}

// TestCollectedAgain: the second collection comes soon, though nobody had time to take note of the first: not when
// seventeen times as much is taken as the first found alive.
func TestCollectedAgain(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	unlimited := debug.SetMemoryLimit(-1)
	collectLate()
	var began, m runtime.MemStats
	runtime.ReadMemStats(&began)
	var alive [][]byte
	for m = began; m.NumGC == began.NumGC && m.TotalAlloc-began.TotalAlloc < 1<<30; runtime.ReadMemStats(&m) {
		alive = append(alive, make([]byte, 1<<20))
		alive = alive[max(0, len(alive)-20):] // the others are garbage
	}
	runtime.KeepAlive(alive)
	if taken := (m.TotalAlloc - began.TotalAlloc) >> 20; taken < 40 {
		t.Errorf("the first collection came after %d MB", taken)
	}
	if m.NextGC > 128<<20 {
		t.Errorf("the second collection is to come at %d MB", m.NextGC>>20)
	}
	if settled(); debug.SetMemoryLimit(-1) != unlimited {
		t.Errorf("memory has a limit of %d MB for good", debug.SetMemoryLimit(-1)>>20)
	}
}
