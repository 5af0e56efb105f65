//go:build race

package scheduler

// racing tells that the race detector slows everything down.
const racing = true

// unlessRacing is the whole of a thing, or a part of it: what the race detector
// makes long runs whole without it, in the same make test.
func unlessRacing[T any](_, part T) T { return part }
