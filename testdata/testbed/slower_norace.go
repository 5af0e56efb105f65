//go:build !race

package testbed

import "time"

// slower is how many times longer bounded work may take here: the race detector
// makes it five to ten times as long.
const slower = 1

// usual is what the yardstick takes on an idle machine of the year 2020.
const usual = 6 * time.Millisecond

// Racing tells that the race detector watches: what has one goroutine and takes
// minutes then does a part of its work, and all of it without, in the same make test.
const Racing = false
