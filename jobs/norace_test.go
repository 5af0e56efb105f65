//go:build !race

package jobs_test

// crashStep is the distance of the points at which a submission is killed
// where the real servers are not tested.
const crashStep = 17
