package jobs

import (
	"errors"
	"fmt"
	"syscall"

	"gridbroker/durable/sqlite"
)

// NoRoom reports whether an error is that a disk is full, or what a user may have of one.
func NoRoom(err error) bool { return sqlite.Filled(err) }

// A lockError is that a file of the records could not be locked.
type lockError struct {
	path string
	err  error
}

func (e *lockError) Error() string { return fmt.Sprintf("lock %s: %v", e.path, e.err) }
func (e *lockError) Unwrap() error { return e.err }

// NoLocks reports whether an error is that the file system of the records has no locks, as that of a server may have none.
func NoLocks(err error) bool {
	_, lock := errors.AsType[*lockError](err)
	return lock && (errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP))
}
