package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"gridbroker/durable"
)

// Sync is what a commit waits for, SQLite's "PRAGMA synchronous".
type Sync string

// Full waits until the commit is on disk; with Normal a crash of the machine
// may take the last commits, and leaves the database whole. Off waits for nothing, keeps
// no journal, and the file to one connection: a crash may damage it, and nothing can be rolled back. For scratch.
const (
	Full   Sync = "FULL"
	Normal Sync = "NORMAL"
	Off    Sync = "OFF"
)

// Open opens the database at path, with a write-ahead log unless it is scratch, and makes it and its
// directory, for the owner alone, where they are missing. Who finds it locked waits at
// most that long. Nothing is read before the first statement.
func Open(path string, sync Sync, wait time.Duration) (*sql.DB, error) {
	if _, err := begin(path); err != nil {
		return nil, err
	}
	journal := []string{"journal_mode(WAL)"}
	if sync == Off { // nothing to be kept, and nobody else
		journal = []string{"locking_mode(EXCLUSIVE)", "journal_mode(OFF)", "cache_size(-32768)", "temp_store(MEMORY)"}
	}
	return pool(name(path, append(journal, fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), fmt.Sprintf("synchronous(%s)", sync))))
}

// Create makes the database at path with pages of so many bytes, a power of two up to 65,536, where there is nothing yet:
// afterwards their length cannot be changed.
func Create(path string, page int) error {
	if size, err := begin(path); err != nil || size > 0 {
		return err
	}
	db, err := pool(name(path, []string{fmt.Sprintf("page_size(%d)", page)}))
	if err != nil {
		return err
	}
	_, err = db.Exec("VACUUM") // which writes it
	return errors.Join(err, db.Close())
}

// begin makes the file and its directory, for the owner alone, where they are missing, and tells how long it is.
func begin(path string) (size int64, err error) {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// name is the library's name for the file with what is to be set in each connection.
func name(path string, pragmas []string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": pragmas,
		"_txlock": {"immediate"},
	}.Encode()}).String()
}
