//go:build !race

package testbed

// slower is how many times longer bounded work may take here: the race detector
// makes it five to ten times as long.
const slower = 1
