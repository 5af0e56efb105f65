package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gridbroker/durable"
)

// Aside copies the database at path, with its write-ahead log, to a new directory for temporary files and has it opened
// there: what is in it can be read where nothing can be written, as on a full disk. Where there is no such file the
// directory is empty. Its name begins with word, which ends in "-", and the process; those of processes that were killed are
// removed, and so is this one where it cannot be opened. Otherwise who has opened it removes it.
func Aside(path, word string, open func(dir string) error) error {
	var failed error
	first, failed := durable.TempDir()
	for _, at := range []string{first, "/dev/shm"} {
		if at == "" {
			continue // others can exchange what would be made there
		}
		durable.DiscardKilled(at, word)
		temp, err := os.MkdirTemp(at, fmt.Sprintf("%s%d-*", word, os.Getpid()))
		if err == nil {
			if err = copyBoth(path, temp); err == nil {
				err = open(temp)
			}
			if err == nil {
				return nil
			}
			os.RemoveAll(temp)
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// copyBoth copies a database and its write-ahead log, where they are there, into a directory.
func copyBoth(path, dir string) error {
	if err := CheckFiles(path); err != nil {
		return err
	}
	for _, beside := range []string{"", "-wal"} {
		err := durable.CopyFile(path+beside, filepath.Join(dir, filepath.Base(path)+beside))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a log without its database is of none
		case err != nil:
			return err
		}
	}
	return nil
}
