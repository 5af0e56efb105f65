// Package broker decides where jobs run. It filters resources with a typed
// reason for every "no", asks services about those left, ranks and chooses. It
// keeps nothing and opens nothing: what a caller knows of its own jobs is an
// argument.
package broker
