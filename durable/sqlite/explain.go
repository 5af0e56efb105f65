// Package sqlite tells what SQLite does not say about a database file.
package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// files is how many SQLite opens for one connection: the database, its
// write-ahead log, the log's index, and one to spare.
const files = 4

// page is what is written to see whether a disk is full, in bytes.
const page = 64 << 10

// An explained error is SQLite's, in the words of the system.
type explained struct{ sqlite, system error }

func (e *explained) Error() string {
	if at, ok := errors.AsType[*fs.PathError](e.system); ok {
		return at.Err.Error() // the file was one of ours, which is gone again
	}
	return e.system.Error()
}

func (e *explained) Unwrap() []error { return []error{e.sqlite, e.system} }

// Explain has in the place of SQLite's "unable to open database file" and "disk I/O
// error", which tell nothing, what the system says when files are made and written
// beside the database at path: too many open files, a read-only file system, a full
// disk. Other errors are returned as they are.
func Explain(path string, err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok || e.Code()&0xff != lib.SQLITE_CANTOPEN && e.Code()&0xff != lib.SQLITE_IOERR {
		return err
	}
	for range files {
		f, why := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".probe-*")
		if why != nil {
			return &explained{err, why}
		}
		defer os.Remove(f.Name())
		defer f.Close()
		_, why = f.Write(make([]byte, page))
		if why == nil {
			why = f.Sync() // a quota of a server may be told only then
		}
		if why != nil {
			return &explained{err, why}
		}
	}
	return err
}

// Failed reports whether an error is that the system did not do with a file what SQLite wanted.
func Failed(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == lib.SQLITE_IOERR
}

// Ruined reports whether an error is that a file is no database, or one that
// cannot be read any more.
func Ruined(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code()&0xff == lib.SQLITE_NOTADB || e.Code()&0xff == lib.SQLITE_CORRUPT) || errors.Is(err, syscall.EISDIR)
}

// Twice reports whether an error is that a row would be there twice: in a damaged file there may be such rows.
func Twice(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == lib.SQLITE_CONSTRAINT
}

// Filled reports whether an error is that there is no room on the disk for what is to
// be written.
func Filled(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == lib.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Room tries whether a database at path could be written: beside it, since what is in the
// file already can be written again on a full disk.
func Room(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".probe-*")
	if err != nil {
		return err
	}
	err = os.Remove(f.Name()) // at once: one that is killed leaves nothing behind
	_, full := f.Write(make([]byte, page))
	return errors.Join(err, full, f.Close())
}

// Unwritable reports whether an error is that a database cannot be written where
// it is: a read-only file system, a full disk, rights.
func Unwritable(err error) bool {
	for _, no := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, no) {
			return true
		}
	}
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return true
	}
	return e.Code() == lib.SQLITE_IOERR_SHMSIZE || e.Code() == lib.SQLITE_IOERR_WRITE || e.Code() == lib.SQLITE_IOERR_SHMOPEN
}
