package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLate lets the first tens of megabytes go uncollected: most commands
// end before that. From the first collection on all is as usual, unless the command
// has said meanwhile what it wants. Who sets GOGC gets what it says.
//
// The first collection is known of when what it freed has been swept, which a busy daemon gets to when it
// has taken many times as much again. So as long as it is not known, memory has a limit: the collection that
// comes with it sweeps all first.
func collectLate() {
	const percent = 1600 // of the 4 MB at which the first collection would begin
	const limit = 128 << 20
	if os.Getenv("GOGC") != "" {
		return
	}
	usual, most := debug.SetGCPercent(percent), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(most, limit))
	runtime.AddCleanup(new(*byte), func(usual int) {
		debug.SetMemoryLimit(most)
		if was := debug.SetGCPercent(usual); was != percent {
			debug.SetGCPercent(was)
		}
	}, usual)
}
