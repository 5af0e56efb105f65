package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLate lets the first tens of megabytes go uncollected: most commands
// end before that. From the first collection on all is as usual, unless the command
// has said meanwhile what it wants. Who sets GOGC gets what it says.
func collectLate() {
	const percent = 1600 // of the 4 MB at which the first collection would begin
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(percent)
	runtime.AddCleanup(new(*byte), func(usual int) {
		if was := debug.SetGCPercent(usual); was != percent {
			debug.SetGCPercent(was)
		}
	}, usual)
}
