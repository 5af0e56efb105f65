//go:build !race

package simtest

// defaultSubmissions is how many jobs are submitted where nothing else is said.
const defaultSubmissions = 100_000
