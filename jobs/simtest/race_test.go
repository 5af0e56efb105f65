//go:build race

package simtest

// defaultSubmissions: under the race detector everything takes ten times as long.
const defaultSubmissions = 2_000
