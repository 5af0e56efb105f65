// Package jobs keeps jobs and follows them: it records them in a store that
// survives a crash at any moment, sends them where package broker decides,
// asks their back-ends about them, sends those that failed again, starts the
// nodes of a DAG in turn, and brings output back.
package jobs
