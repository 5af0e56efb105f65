package testbed

import (
	"os"
	"strings"
	"testing"
)

// Whole reports whether a test is to do all of its work. With -short it is not, and not under
// the race detector, which makes what computes in one goroutine ten times as long: by the words
// of the log run-tests.sh knows the test and runs it again, without.
func Whole(t testing.TB) bool {
	t.Helper()
	if Racing {
		name, _, _ := strings.Cut(t.Name(), "/")
		t.Logf("run-tests.sh runs all of %s without the race detector", name)
	}
	return !Racing && !testing.Short()
}

// Measures leaves a test that bounds the time, processor time or memory of another
// program to the run without the race detector, beside which less else is at work.
func Measures(t testing.TB) {
	t.Helper()
	if !Whole(t) {
		t.Skip("measures another program: run without the race detector")
	}
}

// Computes leaves a test of one goroutine to the run without the race detector.
func Computes(t testing.TB) {
	t.Helper()
	if !Whole(t) {
		t.Skip("computes in one goroutine: run without the race detector")
	}
}

// Seeds is how many seeds a test has that draws what it does: some, or as many as it is to have
// where GRID_LONG is set, as by make test-long.
func Seeds(some, long uint64) uint64 {
	if os.Getenv("GRID_LONG") != "" {
		return long
	}
	return some
}
