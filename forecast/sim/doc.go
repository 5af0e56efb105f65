// Package sim simulates whole grids around the real code: see tree for the
// tree of managers.
package sim
