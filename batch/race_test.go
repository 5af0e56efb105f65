//go:build race

package batch_test

// racing: the race detector makes a replay ten times as long. What takes
// minutes then runs without it, in the same make test.
const racing = true
