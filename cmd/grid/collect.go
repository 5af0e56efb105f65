package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage may gather before it is collected: what most commands make
// in all, and as much again where more is in use; where much is in use, at
// least a quarter of that, or collecting would be most of the work.
const (
	garbage      = 64 << 20
	leastPercent = 25
)

// collectLate lets the first tens of megabytes go uncollected: most commands
// end before that. From the first collection on so much garbage may gather at
// any time, and no more the more is in use. Who sets GOGC gets what it says.
func collectLate() {
	const firstAt = 4 << 20 // where the first collection would begin
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * garbage / firstAt)
	afterCollection()
}

// afterCollection runs adjust after the next collection, and so on.
func afterCollection() {
	runtime.AddCleanup(new(*byte), func(struct{}) {
		adjust()
		afterCollection()
	}, struct{}{})
}

// adjust sets the percentage that lets so much garbage gather on top of what is
// in use, but no more than that is.
func adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		debug.SetGCPercent(100)
		return
	}
	used := max(live[0].Value.Uint64(), 1)
	debug.SetGCPercent(int(min(100, max(leastPercent, 100*garbage/used))))
}
