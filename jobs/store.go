package jobs

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"gridbroker/plugins"
)

// Store keeps jobs in one SQLite file. Many processes may use it at once;
// every change is one transaction.
type Store struct {
	db  *sql.DB
	dir string
	now func() time.Time
}

// migrations bring the schema from one user_version to the next.
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
}

// OpenStore opens or makes DIR/jobs.db, readable for its owner only. A
// commit is on disk when it returns: what was recorded before a request
// survives the machine's crash, too.
func OpenStore(dir string, now func() time.Time) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	path := filepath.Join(dir, "jobs.db")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	f.Close()
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)"}, "_txlock": {"immediate"},
	}.Encode()}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	db.SetMaxOpenConns(4)
	s := &Store{db: db, dir: dir, now: now}
	if err := s.migrate(); err != nil {
		db.Close()
		return nil, fmt.Errorf("job records %s: %w", path, err)
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// migrate brings an old file up to date; one of a newer program is refused.
func (s *Store) migrate() error {
	var version int
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("written by a newer version of this program (schema %d, this one knows %d)", version, len(migrations))
	}
	if version == len(migrations) {
		return nil
	}
	return s.tx(context.Background(), func(tx *sql.Tx) error {
		// Another process may have been faster.
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
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

func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Add records new jobs, all or none.
func (s *Store) Add(ctx context.Context, rs []*Record) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		insert, err := tx.Prepare("INSERT INTO jobs (id, state, created, parent, body) VALUES (?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, r := range rs {
			body, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if _, err := insert.Exec(r.ID, string(r.State), r.Created.UnixMilli(), r.Parent, body); err != nil {
				return err
			}
		}
		return s.logTx(tx, rs, "intend", func(r *Record) string { return r.Name })
	})
}

// Change is what an update did to a job, for its log; empty: nothing.
type Change struct{ Action, Text string }

// Update changes jobs in one transaction: f sees the record as it is now,
// changed by other processes or not, and says what it did. The records
// passed in are brought up to date. A job that another process has forgotten
// meanwhile counts as lost and has an Err.
func (s *Store) Update(ctx context.Context, rs []*Record, f func(*Record) Change) error {
	if len(rs) == 0 {
		return nil
	}
	fresh := make([]Record, len(rs))
	gone := make([]bool, len(rs))
	err := s.tx(ctx, func(tx *sql.Tx) error {
		write, err := tx.Prepare("UPDATE jobs SET state = ?, body = ? WHERE id = ?")
		if err != nil {
			return err
		}
		defer write.Close()
		entry, err := tx.Prepare("INSERT INTO log (job, at, action, text) VALUES (?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer entry.Close()
		var now map[string][]byte
		for i, r := range rs {
			if i%readAtOnce == 0 {
				if now, err = bodies(tx, rs[i:min(i+readAtOnce, len(rs))]); err != nil {
					return err
				}
			}
			body, there := now[r.ID]
			if gone[i] = !there; gone[i] {
				continue
			}
			if now[r.ID], err = s.updateOne(write, entry, body, &fresh[i], f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range rs {
		if gone[i] {
			r.State, r.Reason = plugins.Lost, "its record was removed meanwhile"
			r.err = fmt.Errorf("job %s: %s", r.ID, r.Reason)
			continue
		}
		fresh[i].job, fresh[i].err, fresh[i].asked, fresh[i].files = r.job, r.err, r.asked, r.files
		keepRanked(fresh[i].Choices, r.Choices)
		*r = fresh[i]
	}
	return nil
}

// keepRanked keeps what choices point to in memory.
func keepRanked(choices, from []Choice) {
	for i := range choices {
		at := slices.IndexFunc(from, func(c Choice) bool { return c.Resource == choices[i].Resource })
		if at >= 0 {
			choices[i].ranked = from[at].ranked
		}
	}
}

// readAtOnce is how many records one query reads.
const readAtOnce = 500

// bodies reads the records of jobs as they are now, by id.
func bodies(tx *sql.Tx, rs []*Record) (map[string][]byte, error) {
	ids := make([]any, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	rows, err := tx.Query("SELECT id, body FROM jobs WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", ids...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string][]byte, len(ids))
	for rows.Next() {
		var id string
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return nil, err
		}
		out[id] = body
	}
	return out, rows.Err()
}

// updateOne changes one record and returns what is then stored.
func (s *Store) updateOne(write, entry *sql.Stmt, body []byte, fresh *Record, f func(*Record) Change) ([]byte, error) {
	if err := json.Unmarshal(body, fresh); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	change := f(fresh)
	text, err := json.Marshal(fresh)
	if err != nil || bytes.Equal(text, body) && change.Action == "" {
		return text, err
	}
	if _, err := write.Exec(string(fresh.State), text, fresh.ID); err != nil || change.Action == "" {
		return text, err
	}
	_, err = entry.Exec(fresh.ID, s.now().UnixMilli(), change.Action, change.Text)
	return text, err
}

func (s *Store) logTx(tx *sql.Tx, rs []*Record, action string, text func(*Record) string) error {
	entry, err := tx.Prepare("INSERT INTO log (job, at, action, text) VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer entry.Close()
	for _, r := range rs {
		if _, err := entry.Exec(r.ID, s.now().UnixMilli(), action, text(r)); err != nil {
			return err
		}
	}
	return nil
}

// Note adds a line to the logs of jobs.
func (s *Store) Note(ctx context.Context, rs []*Record, action string, text func(*Record) string) error {
	return s.tx(ctx, func(tx *sql.Tx) error { return s.logTx(tx, rs, action, text) })
}

// Delete forgets jobs and their logs.
func (s *Store) Delete(ctx context.Context, rs []*Record) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, r := range rs {
			for _, q := range []string{"DELETE FROM jobs WHERE id = ?", "DELETE FROM log WHERE job = ?"} {
				if _, err := tx.Exec(q, r.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Log returns the entries of a job, oldest first.
func (s *Store) Log(ctx context.Context, id string) ([]Entry, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT at, action, text FROM log WHERE job = ? ORDER BY at, rowid", id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		e, ms := Entry{Job: id}, int64(0)
		if err := rows.Scan(&ms, &e.Action, &e.Text); err != nil {
			return nil, err
		}
		e.At = time.UnixMilli(ms)
		out = append(out, e)
	}
	return out, rows.Err()
}

// Query selects jobs; zero fields do not restrict.
type Query struct {
	States []plugins.State
	Since  time.Time // created then or later
	Parent string
	Live   bool // not final
}

// Select returns jobs in the order of their ids, which is that of their
// submission.
func (s *Store) Select(ctx context.Context, q Query) ([]*Record, error) {
	where, args := []string{"1"}, []any{}
	if len(q.States) > 0 {
		where = append(where, "state IN (?"+strings.Repeat(",?", len(q.States)-1)+")")
		for _, st := range q.States {
			args = append(args, string(st))
		}
	}
	if q.Live {
		where = append(where, "state NOT IN ('done', 'failed', 'cancelled', 'lost')")
	}
	if !q.Since.IsZero() {
		where, args = append(where, "created >= ?"), append(args, q.Since.UnixMilli())
	}
	if q.Parent != "" {
		where, args = append(where, "parent = ?"), append(args, q.Parent)
	}
	return s.records(ctx, "SELECT body FROM jobs WHERE "+strings.Join(where, " AND ")+" ORDER BY id", args...)
}

func (s *Store) records(ctx context.Context, query string, args ...any) ([]*Record, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*Record
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		r := &Record{}
		if err := json.Unmarshal(body, r); err != nil {
			return nil, fmt.Errorf("job records: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
