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
	journal := []string{"journal_mode(WAL)"}
	if sync == Off { // nothing to be kept, and nobody else
		journal = []string{"locking_mode(EXCLUSIVE)", "journal_mode(OFF)", "cache_size(-32768)", "temp_store(MEMORY)"}
	}
	return pool((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": append(journal, fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), fmt.Sprintf("synchronous(%s)", sync)),
		"_txlock": {"immediate"},
	}.Encode()}).String())
}
