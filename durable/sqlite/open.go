package sqlite

import (
	"database/sql"
	"fmt"
	"io/fs"
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

// Settings are how a database is opened.
type Settings struct {
	Sync Sync
	Wait time.Duration // at most, by who finds it locked
	Page int           // the length of a new file's pages in bytes, a power of two up to 65,536: it cannot be changed later; 0: SQLite's, 4,096
}

// Open opens the database at path, with a write-ahead log unless it is scratch, and makes it and its
// directory, for the owner alone, where they are missing. Nothing is read before the first statement.
func Open(path string, with Settings) (*sql.DB, error) {
	if err := begin(path); err != nil {
		return nil, err
	}
	journal := "WAL"
	pragmas := []string{fmt.Sprintf("busy_timeout(%d)", with.Wait.Milliseconds()), fmt.Sprintf("synchronous(%s)", with.Sync)}
	if with.Page != 0 {
		pragmas = append(pragmas, fmt.Sprintf("page_size(%d)", with.Page))
	}
	if with.Sync == Off { // nothing to be kept, and nobody else
		journal = "OFF"
		pragmas = append(pragmas, "locking_mode(EXCLUSIVE)", "cache_size(-32768)", "temp_store(MEMORY)")
	}
	return pool(name(path, journal, pragmas))
}

// irregular are kinds of files to open which may be to wait for whoever opens their other end.
const irregular = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice | fs.ModeIrregular

// CheckFiles looks at the database at path and at what SQLite would open beside it: a pipe or a device in the place of
// one of them is an error, and would be waited for without an end. What is not there is well.
func CheckFiles(path string) error {
	for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
		if info, err := os.Stat(path + beside); err == nil && info.Mode()&irregular != 0 {
			return fmt.Errorf("%s is no regular file (%s): move it away", path+beside, info.Mode())
		}
	}
	return nil
}

// begin makes the file and its directory, for the owner alone, where they are missing.
func begin(path string) error {
	if err := CheckFiles(path); err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// name is the library's name for the file with what is to be set in each connection. It sets the journal's mode after the
// pragmas, which it sorts by name: with a write-ahead log the file has its first page, and the length of it.
func name(path, journal string, pragmas []string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma":       pragmas,
		"_journal_mode": {journal},
		"_txlock":       {"immediate"},
	}.Encode()}).String()
}
