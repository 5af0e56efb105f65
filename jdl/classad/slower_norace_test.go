//go:build !race

package classad_test

// slower is how many times longer bounded work may take here: the race detector
// makes it five to ten times as long.
const slower = 1
