//go:build race

package sim_test

import "time"

// referenceTime is how long points of the reference are run for unless
// GRID_LONG is set: under the race detector, which make test uses, a sample.
const referenceTime = time.Minute
