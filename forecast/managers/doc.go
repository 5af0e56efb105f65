// Package managers decides for a tree of managers that share computing systems
// without anybody seeing the whole: one manager per system, one per domain of
// systems or domains.
//
// A manager knows its own free resources and, per neighbour in the tree, the
// amounts that are free in some single system in that direction, each value
// once and without a place. Two messages go over the links: a change corrects
// the neighbour's table, a request carries a job. After each event a manager
// looks through its queue and starts a job at home, sends it towards a row that
// fits, or keeps it.
//
// Everything here is pure: events and the time come in, messages and
// assignments go out. The simulator and the daemons run the same code.
// Times are in units that the caller chooses.
package managers
