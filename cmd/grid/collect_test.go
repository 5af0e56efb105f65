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
