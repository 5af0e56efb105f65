package sqlite

import (
	"database/sql"
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
// may take the last commits, and leaves the database whole. Off waits for nothing:
// a crash of the machine, not one of the program, may damage it. For scratch.
const (
	Full   Sync = "FULL"
	Normal Sync = "NORMAL"
	Off    Sync = "OFF"
)

// Open opens the database at path, with a write-ahead log, and makes it and its
// directory, for the owner alone, where they are missing. Who finds it locked waits at
// most that long. Nothing is read before the first statement.
func Open(path string, sync Sync, wait time.Duration) (*sql.DB, error) {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return pool((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "journal_mode(WAL)", fmt.Sprintf("synchronous(%s)", sync)},
		"_txlock": {"immediate"},
	}.Encode()}).String())
}
