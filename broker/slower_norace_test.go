//go:build !race

package broker_test

import "time"

// bound is a bound of time; machines of tests are shared.
func bound(d time.Duration) time.Duration { return 3 * d }
