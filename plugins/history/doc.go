// Package history is the registry of tasks: how long such jobs ran on which
// hardware, how well start forecasts came true, which resources fail. It
// remembers in one SQLite file that all processes of a user share.
//
// From this it answers as a Historian (run time, correction of forecasts,
// chance of success, bans), and keeps a circuit breaker per resource and
// operation: a ban after failures, growing while they go on, then one canary
// job on trial, then either a longer ban or none.
package history
