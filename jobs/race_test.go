//go:build race

package jobs_test

// crashStep: under the race detector a submission takes a second and more.
const crashStep = 97
