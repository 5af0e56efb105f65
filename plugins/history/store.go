package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gridbroker/durable/sqlite"
	"gridbroker/plugins"
)

// Registry is the open registry. It is safe for concurrent use and shared
// with other processes.
type Registry struct {
	db   *sql.DB
	now  func() time.Time
	temp string // removed with all that is in it when a copy is closed
}

var (
	_ plugins.Historian = (*Registry)(nil)
	_ plugins.Estimator = (*Registry)(nil)
	_ plugins.Recorder  = (*Registry)(nil)
)

// schema is version 4. Version 1 had none of good_at, odd and overhead, version 2 not the last, version 3 nothing of what jobs ask for. Times are Unix seconds, durations seconds. Sums in
// "resources" and "sources" decay (see decay), so that old times are forgotten.
const schema = `
CREATE TABLE tasks (          -- run times by kind of task and of hardware
	task TEXT NOT NULL, hardware TEXT NOT NULL, runs INTEGER NOT NULL,
	mean REAL NOT NULL, speed REAL NOT NULL, last INTEGER NOT NULL,
	PRIMARY KEY (task, hardware)) WITHOUT ROWID;
CREATE TABLE resources (
	resource TEXT PRIMARY KEY, at INTEGER NOT NULL, good REAL NOT NULL, ended REAL NOT NULL,
	waited REAL NOT NULL, predicted REAL NOT NULL, waits REAL NOT NULL, jobs INTEGER NOT NULL,
	good_at INTEGER NOT NULL DEFAULT 0, odd REAL NOT NULL DEFAULT 0, overhead REAL NOT NULL DEFAULT -1) WITHOUT ROWID;
	-- last good end; ends in a row that were too short to be true; seconds beside wait and run, -1: not known
CREATE TABLE sources (        -- absolute errors of forecasts by who made them
	source TEXT PRIMARY KEY, at INTEGER NOT NULL, error REAL NOT NULL, n REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE open (           -- jobs that have not ended
	id TEXT PRIMARY KEY, task TEXT NOT NULL, hardware TEXT NOT NULL, speed REAL NOT NULL,
	resource TEXT NOT NULL, sent INTEGER NOT NULL, trial INTEGER NOT NULL, forecasts TEXT NOT NULL,
	asked REAL NOT NULL DEFAULT 0) WITHOUT ROWID; -- wall time asked for, at the resource's speed; 0: none
CREATE INDEX open_sent ON open (sent);
CREATE TABLE breakers (
	resource TEXT NOT NULL, op TEXT NOT NULL, failures INTEGER NOT NULL, first INTEGER NOT NULL,
	last INTEGER NOT NULL, until INTEGER NOT NULL, trial INTEGER NOT NULL, reason TEXT NOT NULL,
	PRIMARY KEY (resource, op)) WITHOUT ROWID;
CREATE TABLE pins (resource TEXT PRIMARY KEY, up INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE failing (        -- where a kind of task failed fast, and when last
	task TEXT NOT NULL, resource TEXT NOT NULL, last INTEGER NOT NULL,
	PRIMARY KEY (task, resource)) WITHOUT ROWID;
` + tableOdd + tableUsage

// tableUsage ends the schema: one row, of all jobs of this user (see rank.Usage).
const tableUsage = `
CREATE TABLE usage (used REAL NOT NULL, asked REAL NOT NULL, jobs REAL NOT NULL);
INSERT INTO usage VALUES (0, 0, 0);
PRAGMA user_version = 4;`

// tableOdd came with version 2.
const tableOdd = `
CREATE TABLE odd (            -- where a kind of task ended well too soon, and when last
	task TEXT NOT NULL, resource TEXT NOT NULL, last INTEGER NOT NULL,
	PRIMARY KEY (task, resource)) WITHOUT ROWID;
`

// upgrades bring a file of an older version, counted from 1, to the next.
var upgrades = []string{`
ALTER TABLE resources ADD COLUMN good_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resources ADD COLUMN odd REAL NOT NULL DEFAULT 0;` + tableOdd,
	"ALTER TABLE resources ADD COLUMN overhead REAL NOT NULL DEFAULT -1",
	"ALTER TABLE open ADD COLUMN asked REAL NOT NULL DEFAULT 0;" + tableUsage,
}

// keep is how long a job is waited for, and what is not used is remembered.
const keep = 90 * 24 * time.Hour

// Open opens or makes DIR/history.db, readable for its owner only.
func Open(dir string, now func() time.Time) (*Registry, error) {
	path := filepath.Join(dir, "history.db")
	// What is lost in a crash of the machine is some experience: no commit waits for the disk.
	db, err := sqlite.Open(path, sqlite.Settings{Sync: sqlite.Normal, Wait: 10 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	db.SetMaxOpenConns(4)
	r := &Registry{db: db, now: now}
	if err := r.migrate(); err != nil {
		db.Close()
		return nil, fmt.Errorf("history %s: %w", path, sqlite.Explain(path, err))
	}
	return r, nil
}

// OpenCopy opens a copy of DIR/history.db that is thrown away when it is closed: what is known can be read where nothing
// can be written. Where there is no such file nothing is known, and the copy is empty.
func OpenCopy(dir string, now func() time.Time) (r *Registry, err error) {
	err = sqlite.Aside(filepath.Join(dir, "history.db"), "grid-history-", func(temp string) error {
		if r, err = Open(temp, now); err == nil {
			r.temp = temp
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a copy of the history: %w", err)
	}
	return r, nil
}

// Close closes the file, and removes it where it is a copy.
func (r *Registry) Close() error {
	err := r.db.Close()
	if r.temp != "" {
		err = errors.Join(err, os.RemoveAll(r.temp))
	}
	return err
}

// Name implements plugins.Historian.
func (r *Registry) Name() string { return "history" }

// migrate brings the file up to date. One that is needs no transaction, which
// would wait for other writers.
func (r *Registry) migrate() error {
	latest := len(upgrades) + 1
	version := 0
	if err := r.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version == latest {
		return err
	}
	return r.tx(context.Background(), func(tx *sql.Tx) error {
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case version == 0:
			_, err := tx.Exec(schema)
			return err
		case version > latest:
			return fmt.Errorf("made by a newer version of the program (schema %d)", version)
		}
		for _, up := range upgrades[version-1:] {
			if _, err := tx.Exec(up); err != nil {
				return err
			}
		}
		return nil
	})
}

// tx runs f in one transaction.
func (r *Registry) tx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := f(tx); err != nil {
		return errors.Join(fmt.Errorf("history: %w", err), tx.Rollback())
	}
	return tx.Commit()
}
