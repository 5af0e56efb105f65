package jobs

import "gridbroker/durable/sqlite"

// NoRoom reports whether an error is that a disk is full, or what a user may have of one.
func NoRoom(err error) bool { return sqlite.Filled(err) }
