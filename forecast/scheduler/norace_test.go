//go:build !race

package scheduler

// racing tells that the race detector slows everything down.
const racing = false
