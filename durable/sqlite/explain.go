// Package sqlite tells what SQLite does not say about a database file.
package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// files is how many SQLite opens for one connection: the database, its
// write-ahead log, the log's index, and one to spare.
const files = 4

// Explain adds to SQLite's "unable to open database file", which tells no
// more, what the system says when files are made beside the database at path:
// too many open files, a read-only file system, a full disk. Other errors are
// returned as they are.
func Explain(path string, err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok || e.Code()&0xff != lib.SQLITE_CANTOPEN {
		return err
	}
	for range files {
		f, why := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".probe-*")
		if why != nil {
			return fmt.Errorf("%w: %w", err, why)
		}
		defer os.Remove(f.Name())
		defer f.Close()
	}
	return err
}
