//go:build race

package broker_test

import "time"

// bound is a bound of time, for the race detector.
func bound(d time.Duration) time.Duration { return 10 * d }
