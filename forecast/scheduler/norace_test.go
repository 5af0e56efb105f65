//go:build !race

package scheduler

// racing tells that the race detector slows everything down.
const racing = false

// unlessRacing is the whole of a thing, or a part of it: what the race detector
// makes long runs whole without it, in the same make test.
func unlessRacing[T any](whole, _ T) T { return whole }
