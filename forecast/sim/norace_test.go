//go:build !race

package sim_test

import "time"

// referenceTime is how long points of the reference are run for: under the
// race detector, which make test uses, the cheap ones alone.
const referenceTime = 8 * time.Minute
