package jobs

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
	"time"
)

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
	fresh, sums := make([]Record, len(rs)), make([]string, len(rs))
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
			sums[i] = now[r.ID].sum
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, r := range rs {
		if fresh[i].ID != "" {
			*r = fresh[i]
			s.again.wrote(r, sums[i])
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
