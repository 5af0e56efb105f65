package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLate lets the first tens of megabytes go uncollected: most commands
// end before that. From the first collection on all is as usual. Who sets GOGC
// gets what it says.
func collectLate() {
	const percent = 1600 // of the 4 MB at which the first collection would begin
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(percent)
	runtime.AddCleanup(new(*byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
