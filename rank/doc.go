// Package rank is pure scoring: terms, the hybrid static-plus-dynamic model,
// policies, user formulas, selection. It does no I/O and reads no clock.
package rank
