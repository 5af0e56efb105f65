//go:build race

package broker_test

// crashStep: under the race detector a submission takes a second and more.
const crashStep = 97
