package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gridbroker/durable"
	"gridbroker/durable/sqlite"
)

// SQLite is a Store in one SQLite file.
type SQLite struct {
	db   *sql.DB
	dir  string
	temp string // removed with all that is in it when a copy is closed
	now  func() time.Time

	again again
}

var _ Store = (*SQLite)(nil)

// migrations bring the schema from one user_version to the next. A program writes back
// what it knows of a record, so each new field of Record needs one, if an empty one: an
// older program that is at work then, a follower for one, stops and takes none away.
var migrations = []string{
	`CREATE TABLE jobs (
		id TEXT PRIMARY KEY,
		state TEXT NOT NULL,
		created INTEGER NOT NULL, -- ms since 1970
		parent TEXT NOT NULL,
		body TEXT NOT NULL        -- the Record as JSON
	) WITHOUT ROWID;
	CREATE INDEX jobs_by_state ON jobs (state, id);
	CREATE INDEX jobs_by_parent ON jobs (parent) WHERE parent <> '';
	CREATE TABLE log (
		job TEXT NOT NULL,
		at INTEGER NOT NULL,
		action TEXT NOT NULL,
		text TEXT NOT NULL
	);
	CREATE INDEX log_by_job ON log (job, at);`,
	`ALTER TABLE jobs ADD COLUMN sum TEXT NOT NULL DEFAULT '';      -- of the body; '': not made
	ALTER TABLE jobs ADD COLUMN loose INTEGER NOT NULL DEFAULT 0;   -- ms: attempts are looked up until then
	CREATE INDEX jobs_by_loose ON jobs (loose) WHERE loose <> 0;
	CREATE TABLE damaged (id TEXT, body TEXT, sum TEXT, why TEXT);  -- records set aside by "store repair"`,
	`-- Records tell of restarts, moves and clocks that nobody sets.`,
	`-- Records tell whether the run time of a job was guessed.`,
	`CREATE TABLE place (file TEXT NOT NULL); -- this one (durable.PlaceOf): in a copy, another`,
	`-- Records tell of the scripts before and after a job.`,
	`-- Records tell of categories.`,
	`-- Records tell of the places that trees of managers get for jobs.`,
	`-- Records tell of which node a script was that counts for another one, too.`,
}

// OpenStore opens or makes DIR/jobs.db, readable for its owner only. A
// commit is on disk when it returns: what was recorded before a request
// survives the machine's crash, too. now dates the log.
func OpenStore(dir string, now func() time.Time) (*SQLite, error) {
	s, err := openFile(dir, now)
	if err != nil {
		return nil, err
	}
	if err := own(context.Background(), s); err != nil {
		s.db.Close()
		return nil, s.unopened(err)
	}
	return s, nil
}

// unopened is why the file could not be opened.
func (s *SQLite) unopened(err error) error {
	s.tell(&err)
	if _, told := errors.AsType[*fileError](err); told || sqlite.Ruined(err) {
		return err
	}
	path := filepath.Join(s.dir, "jobs.db")
	return &fileError{path, sqlite.Explain(path, err)}
}

// pageLength is that of a new file's pages: a record of up to 2 kB lies among others on one. Where it is the usual one, 4 kB,
// a record of more than 1 kB has one more for itself, and the file takes three times the room; where it is 16 kB, each of
// the few records that most commands write takes a quarter longer.
const pageLength = 8 << 10

// openFile opens the file, whatever file it is a copy of.
func openFile(dir string, now func() time.Time) (*SQLite, error) {
	path := filepath.Join(dir, "jobs.db")
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	if err := sqlite.CheckFiles(path); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	done, err := oneAtATime(dir)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	defer done()
	if _, err := finish(dir, now()); err != nil {
		return nil, err
	}
	if emptied(dir) {
		return nil, &RuinedError{path, errEmptied}
	}
	if foreignLog(path) {
		return nil, &RuinedError{path, errForeignLog}
	}
	db, err := sqlite.Open(path, sqlite.Settings{Sync: sqlite.Full, Wait: 20 * time.Second, Page: pageLength})
	s := &SQLite{db: db, dir: dir, now: now}
	if err == nil {
		db.SetMaxOpenConns(4)
		if err = s.migrate(); err != nil {
			db.Close()
		}
	}
	if err != nil {
		return nil, s.unopened(err)
	}
	return s, nil
}

// tablesAlone refuses a file that has more than tables and indexes. A view in the place of a
// table may have rows without end, and a trigger does what it says whenever a record is written.
func tablesAlone(db *sql.DB) error {
	var kind, name string
	err := db.QueryRow("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') LIMIT 1").Scan(&kind, &name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it has a %s, %q, which no file of ours has", kind, name)
	}
	return err
}

// oneAtATime lets one process at a time open the file: the change to
// write-ahead logging that the first of them makes waits for nobody, it fails.
func oneAtATime(dir string) (done func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "jobs.db.opening"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, &lockError{f.Name(), err}
	}
	return func() { f.Close() }, nil
}

// Close implements Store.
func (s *SQLite) Close() error {
	err := s.db.Close()
	if s.temp != "" {
		err = errors.Join(err, os.RemoveAll(s.temp))
	}
	return err
}

// migrate brings an old file up to date; one of a newer program is refused.
func (s *SQLite) migrate() error {
	if err := tablesAlone(s.db); err != nil {
		return err
	}
	var version int
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return newer(version)
	}
	if version == len(migrations) {
		return nil
	}
	return s.anyTx(context.Background(), func(tx *sql.Tx) error {
		// Another process may have been faster.
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if err := ours(tx, version, s.dir); err != nil {
			return err
		}
		for ; version < len(migrations); version++ {
			if _, err := tx.Exec(migrations[version]); err != nil {
				return err
			}
			if _, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ours tells whether a file without a version has nothing in it yet. Else it is another database, as it is to SQLite
// once the write-ahead log of one has come to lie beside the records.
func ours(tx *sql.Tx, version int, dir string) error {
	things := 0
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&things); err != nil {
		return err
	}
	if version == 0 && things > 0 {
		return &RuinedError{filepath.Join(dir, "jobs.db"), errors.New("with what lies beside it, it is another database")}
	}
	return nil
}

// newer is the error about records of a newer program.
func newer(version int) error {
	return fmt.Errorf("written by a newer version of this program (schema %d, this one knows %d)", version, len(migrations))
}

// tx is a transaction that writes. A newer program may have brought the file up to
// date since it was opened: what this one would write has not what that one keeps.
func (s *SQLite) tx(ctx context.Context, f func(*sql.Tx) error) error {
	return s.anyTx(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("job records %s: %w: nothing is changed by this one any more; start it again", filepath.Join(s.dir, "jobs.db"), newer(version))
		}
		return f(tx)
	})
}

func (s *SQLite) anyTx(ctx context.Context, f func(*sql.Tx) error) (err error) {
	defer s.tell(&err)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return cause(ctx, err)
	}
	return cause(ctx, tx.Commit())
}

// cause is the context's error where that ended a transaction: database/sql
// says then only that it is over.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
