package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"gridbroker/durable"
	"gridbroker/durable/sqlite"
)

// OpenCopy opens a copy of DIR/jobs.db that is thrown away when it is closed: what
// is recorded can be read where nothing can be written, as on a full disk. Where
// there is no such file nothing is recorded, and the copy is empty.
func OpenCopy(dir string, now func() time.Time) (s *SQLite, err error) {
	err = sqlite.Aside(filepath.Join(dir, "jobs.db"), copies, func(temp string) error {
		if s, err = openFile(temp, now); err == nil {
			s.temp, s.dir = temp, dir // what is told is of the records
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a copy of the job records: %w", err)
	}
	return s, nil
}

// copies begins the names of copies; the process that has it follows.
const copies = "grid-records-"

// copyRecords copies what is named of the database and its write-ahead log.
func copyRecords(from, to string, names ...string) error {
	if err := sqlite.CheckFiles(filepath.Join(from, "jobs.db")); err != nil {
		return err
	}
	for _, name := range names {
		err := durable.CopyFile(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && name != "jobs.db") {
			return err
		}
	}
	return nil
}

// Unwritable reports whether an error of OpenStore is that nothing can be written,
// while what is there may well be read.
func Unwritable(err error) bool { return sqlite.Unwritable(err) }
