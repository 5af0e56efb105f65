//go:build !race

package sim_test

import "time"

// referenceTime is how long points of the reference are run for unless
// GRID_LONG is set. Tests may take ten minutes a package.
const referenceTime = 8 * time.Minute
