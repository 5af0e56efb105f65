// Package tree simulates metacomputers: systems with job streams of their own,
// alone, under a tree or a star of managers, under one dispatcher, or seen by a
// scheduler that knows everything at once. The managers are those of package
// managers; this package has the clock, the links and the jobs.
//
// Times are in ticks, TicksPerUnit of them in a unit.
package tree

// TicksPerUnit is how many ticks a unit of model time has.
const TicksPerUnit = 1000
