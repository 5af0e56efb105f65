// Package broker decides where jobs run and follows them there. It filters
// resources with a typed reason for every "no", asks services about those
// left, ranks, submits to the best and, where that one refuses, to the next;
// and keeps every job in a store that survives a crash at any moment.
package broker
