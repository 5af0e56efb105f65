package jobs

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gridbroker/broker"
	"gridbroker/durable"
	"gridbroker/durable/sqlite"
	"gridbroker/plugins"
)

// SQLite is a Store in one SQLite file.
type SQLite struct {
	db   *sql.DB
	dir  string
	temp string // removed with all that is in it when a copy is closed
	now  func() time.Time
}

var _ Store = (*SQLite)(nil)

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
	`ALTER TABLE jobs ADD COLUMN sum TEXT NOT NULL DEFAULT '';      -- of the body; '': not made
	ALTER TABLE jobs ADD COLUMN loose INTEGER NOT NULL DEFAULT 0;   -- ms: attempts are looked up until then
	CREATE INDEX jobs_by_loose ON jobs (loose) WHERE loose <> 0;
	CREATE TABLE damaged (id TEXT, body TEXT, sum TEXT, why TEXT);  -- records set aside by "store repair"`,
}

// OpenStore opens or makes DIR/jobs.db, readable for its owner only. A
// commit is on disk when it returns: what was recorded before a request
// survives the machine's crash, too. now dates the log.
func OpenStore(dir string, now func() time.Time) (*SQLite, error) {
	path := filepath.Join(dir, "jobs.db")
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	done, err := oneAtATime(dir)
	if err != nil {
		return nil, fmt.Errorf("job records: %w", err)
	}
	defer done()
	if emptied(dir) {
		return nil, &RuinedError{path, errEmptied}
	}
	db, err := sqlite.Open(path, sqlite.Full, 20*time.Second)
	s := &SQLite{db: db, dir: dir, now: now}
	if err == nil {
		db.SetMaxOpenConns(4)
		if err = s.migrate(); err != nil {
			db.Close()
		}
	}
	if s.tell(&err); sqlite.Ruined(err) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("job records %s: %w", path, sqlite.Explain(path, err))
	}
	return s, nil
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
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
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

func (s *SQLite) tx(ctx context.Context, f func(*sql.Tx) error) (err error) {
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

// Add implements Store.
func (s *SQLite) Add(ctx context.Context, rs []*Record) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		insert, err := tx.Prepare("INSERT INTO jobs (id, state, created, parent, body, sum, loose) VALUES (?, ?, ?, ?, ?, ?, 0)")
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, r := range rs {
			body, sum, err := encode(r)
			if err != nil {
				return err
			}
			if _, err := insert.Exec(r.ID, string(r.State), r.Created.UnixMilli(), r.Parent, body, sum); err != nil {
				return err
			}
		}
		return s.noteTx(tx, rs, "intend", func(r *Record) string { return r.Name })
	})
}

// row is a record as it is stored.
type row struct {
	body []byte
	sum  string
}

// updating is one call of Update.
type updating struct {
	*SQLite
	write, entry *sql.Stmt
	f            func(*Record) (Change, error)
}

// Update implements Store.
func (s *SQLite) Update(ctx context.Context, rs []*Record, f func(*Record) (Change, error)) ([]error, error) {
	errs := make([]error, len(rs))
	if len(rs) == 0 {
		return errs, nil
	}
	fresh := make([]Record, len(rs))
	err := s.tx(ctx, func(tx *sql.Tx) (err error) {
		u := updating{SQLite: s, f: f}
		if u.write, err = tx.Prepare("UPDATE jobs SET state = ?, body = ?, sum = ?, loose = ? WHERE id = ?"); err != nil {
			return err
		}
		defer u.write.Close()
		if u.entry, err = tx.Prepare("INSERT INTO log (job, at, action, text) VALUES (?, ?, ?, ?)"); err != nil {
			return err
		}
		defer u.entry.Close()
		var now map[string]row
		for i, r := range rs {
			if i%readAtOnce == 0 {
				if now, err = rowsOf(tx, rs[i:min(i+readAtOnce, len(rs))]); err != nil {
					return err
				}
			}
			if errs[i], err = u.one(r.ID, now, &fresh[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, r := range rs {
		if fresh[i].ID != "" {
			*r = fresh[i]
		}
	}
	return errs, nil
}

// one changes one record, in the store and among the rows read. The first
// error is that of the record alone.
func (u *updating) one(id string, now map[string]row, fresh *Record) (of, err error) {
	was, there := now[id]
	if !there {
		return &GoneError{ID: id}, nil
	}
	if err := decode(was.body, was.sum, fresh); err != nil {
		*fresh = Record{}
		return &DamagedError{IDs: []string{id}, Err: err}, nil
	}
	change, of := u.f(fresh)
	if of != nil {
		return of, decode(was.body, was.sum, reset(fresh))
	}
	body, sum, err := encode(fresh)
	if err != nil || bytes.Equal(body, was.body) && change.Action == "" {
		return nil, err
	}
	if _, err := u.write.Exec(string(fresh.State), body, sum, milli(fresh.loose()), id); err != nil {
		return nil, err
	}
	now[id] = row{body, sum}
	if change.Action == "" {
		return nil, nil
	}
	_, err = u.entry.Exec(id, u.now().UnixMilli(), change.Action, change.Text)
	return nil, err
}

func reset(r *Record) *Record {
	*r = Record{}
	return r
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// readAtOnce is how many records one query reads.
const readAtOnce = 500

// rowsOf reads the records of jobs as they are now, by id.
func rowsOf(tx *sql.Tx, rs []*Record) (map[string]row, error) {
	ids := make([]any, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	rows, err := tx.Query("SELECT id, body, sum FROM jobs WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", ids...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string]row, len(ids))
	for rows.Next() {
		var id string
		var r row
		if err := rows.Scan(&id, &r.body, &r.sum); err != nil {
			return nil, err
		}
		out[id] = r
	}
	return out, rows.Err()
}

// Note implements Store.
func (s *SQLite) Note(ctx context.Context, rs []*Record, action string, text func(*Record) string) error {
	return s.tx(ctx, func(tx *sql.Tx) error { return s.noteTx(tx, rs, action, text) })
}

func (s *SQLite) noteTx(tx *sql.Tx, rs []*Record, action string, text func(*Record) string) error {
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

// Delete implements Store.
func (s *SQLite) Delete(ctx context.Context, rs []*Record) error {
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

// Log implements Store.
func (s *SQLite) Log(ctx context.Context, id string) (_ []Entry, err error) {
	defer s.tell(&err)
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

// Select implements Store.
func (s *SQLite) Select(ctx context.Context, q Query) (_ []*Record, err error) {
	defer s.tell(&err)
	where, args := q.where()
	order := "id"
	if q.Backwards {
		order = "id DESC"
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id, body, sum FROM jobs WHERE "+where+" ORDER BY "+order, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if q.Limit > 0 {
		return first(rows, q.Limit)
	}
	return allOf(rows)
}

// Count implements Store.
func (s *SQLite) Count(ctx context.Context, q Query) (n int, err error) {
	defer s.tell(&err)
	where, args := q.where()
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM jobs WHERE "+where, args...).Scan(&n)
	return n, err
}

// where is a query's condition in SQL.
func (q Query) where() (string, []any) {
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
	if !q.Loose.IsZero() {
		where, args = append(where, "loose > ? AND loose <> 0"), append(args, q.Loose.UnixMilli())
	}
	return strings.Join(where, " AND "), args
}

// Find implements Store.
func (s *SQLite) Find(ctx context.Context, ids []string) ([]*Record, error) {
	return findAll(ids, func(w way, id string) ([]*Record, error) {
		switch w {
		case whole:
			return s.records(ctx, "id = ?", id)
		case parentOf:
			return s.records(ctx, "parent = ?", id)
		case beginning:
			return s.records(ctx, "id >= ? AND id < ?", id, id+"~")
		case end:
			return s.records(ctx, "id LIKE ?", "%"+id)
		}
		return s.records(ctx, "parent LIKE ?", "%"+id)
	})
}

func (s *SQLite) records(ctx context.Context, where string, args ...any) (_ []*Record, err error) {
	defer s.tell(&err)
	rows, err := s.db.QueryContext(ctx, "SELECT id, body, sum FROM jobs WHERE "+where+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return allOf(rows)
}

// allOf reads all records of an answer.
func allOf(rows *sql.Rows) ([]*Record, error) {
	var d decoding
	defer d.work.Wait()
	for rows.Next() {
		if err := d.take(rows); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return d.records()
}

// first reads the first n records of an answer that can be read, and nothing behind them.
func first(rows *sql.Rows, n int) ([]*Record, error) {
	var out []*Record
	var bad damage
	for len(out) < n && rows.Next() {
		var id string
		var body row
		if err := rows.Scan(&id, &body.body, &body.sum); err != nil {
			return nil, err
		}
		r := &Record{}
		if err := decode(body.body, body.sum, r); err != nil {
			bad.add(id, err)
			continue
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, bad.err()
}

// UnderWay implements Store.
func (s *SQLite) UnderWay(ctx context.Context, since time.Time) (_ map[string][]broker.Sent, err error) {
	defer s.tell(&err)
	rows, err := s.db.QueryContext(ctx, `SELECT json_extract(body, '$.resource'), coalesce(json_extract(body, '$.sent'), ''), coalesce(json_extract(body, '$.slots'), 1)
		FROM jobs WHERE state IN (?,?,?,?,?) AND created >= ? AND json_valid(body) AND json_extract(body, '$.resource') <> ''`,
		plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, since.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]broker.Sent{}
	for rows.Next() {
		var resource, at string
		var j broker.Sent
		if err := rows.Scan(&resource, &at, &j.Slots); err != nil {
			return nil, err
		}
		if at != "" {
			if j.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
				return nil, err
			}
		}
		all[resource] = append(all[resource], j)
	}
	return all, rows.Err()
}
