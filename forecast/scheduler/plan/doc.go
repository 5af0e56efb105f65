// Package plan decides which job of the global queue gets which slot. It is
// pure: values in, values out, no clock, no store.
//
// Pairwise is the matching of the published system, exactly: jobs by falling
// priority, slots by start, the first that fits. Lookahead is ours: parallel
// jobs over several slots of a cluster at once, the best expected completion
// with a look at slots of later cycles, the chances of slots, fairness between
// users by budget, and a bound on how often a job is passed by.
//
// Times are seconds after Rules.Epoch.
package plan
