package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/durable/sqlite"
)

func open(t *testing.T, path string, sync sqlite.Sync, wait time.Duration) *sql.DB {
	t.Helper()
	db, err := sqlite.Open(path, sqlite.Settings{Sync: sync, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// A database is the owner's alone, has a write-ahead log and waits for the disk
// as was said, whatever its name has in it.
func TestOpen(t *testing.T) {
	journals := map[sqlite.Sync]string{sqlite.Full: "wal", sqlite.Normal: "wal", sqlite.Off: "off"}
	for sync, level := range map[sqlite.Sync]int{sqlite.Full: 2, sqlite.Normal: 1, sqlite.Off: 0} {
		path := filepath.Join(t.TempDir(), "a b", "100% ?x=1#y", "jobs.db")
		db := open(t, path, sync, time.Second)
		var mode string
		var got, wait int
		if err := errors.Join(db.QueryRow("pragma journal_mode").Scan(&mode), db.QueryRow("pragma synchronous").Scan(&got),
			db.QueryRow("pragma busy_timeout").Scan(&wait)); err != nil || mode != journals[sync] || got != level || wait != 1000 {
			t.Errorf("%s: journal %q, synchronous %d, busy %d ms: %v", sync, mode, got, wait, err)
		}
		for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
				t.Errorf("%s: %v %v", name, st, err)
			}
		}
	}
}

// A transaction takes its lock at its beginning; a second one waits no longer
// than was said, and then says why.
func TestLockedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	first, second := open(t, path, sqlite.Full, time.Second), open(t, path, sqlite.Full, 50*time.Millisecond)
	tx, err := first.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Begin(); err == nil || !strings.Contains(err.Error(), "locked") || sqlite.Unwritable(err) {
		t.Errorf("two writers at once: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if tx, err := second.Begin(); err != nil {
		t.Error(err)
	} else {
		tx.Rollback()
	}
}

// TestExplain: what SQLite only calls "unable to open" is told by the system's reason alone, and is SQLite's all the same.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "x.db")
	db := open(t, path, sqlite.Full, time.Second)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	_, err := db.Exec("create table t (a)")
	if err == nil {
		t.Fatal("a table was made in a directory that is not there")
	}
	told := sqlite.Explain(path, err)
	if !errors.Is(told, fs.ErrNotExist) || !errors.Is(told, err) || told.Error() != "no such file or directory" || !sqlite.Unwritable(told) {
		t.Errorf("told: %v; of %v", told, err)
	}
	other := errors.New("something else")
	if got := sqlite.Explain(path, other); got != other || sqlite.Unwritable(other) {
		t.Errorf("of another error: %v", got)
	}
}

func TestUnwritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := open(t, path, sqlite.Full, time.Second).Exec("create table t (a)"); err != nil {
		t.Fatal(err)
	}
	only, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if _, err := only.Exec("insert into t values (1)"); !sqlite.Unwritable(err) {
		t.Errorf("a database that is only read: %v", err)
	}
	for err, want := range map[error]bool{syscall.ENOSPC: true, &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}: true, syscall.EDQUOT: true, syscall.EINTR: false, nil: false} {
		if got := sqlite.Unwritable(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// A new database has pages as long as was said; one that is there stays as it is.
func TestPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "100% ?x=1#y.db")
	for _, page := range []int{16384, 8192, 0} {
		db, err := sqlite.Open(path, sqlite.Settings{Sync: sqlite.Full, Wait: time.Second, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		var got int
		var mode string
		err = errors.Join(db.QueryRow("pragma page_size").Scan(&got), db.QueryRow("pragma journal_mode").Scan(&mode), db.Close())
		if err != nil || got != 16384 || mode != "wal" {
			t.Errorf("opened for pages of %d: they are of %d, %s, %v", page, got, mode, err)
		}
	}
	if _, err := sqlite.Open(filepath.Join(path, "in a file"), sqlite.Settings{Page: 8192}); err == nil {
		t.Error("a database in a file")
	}
}
