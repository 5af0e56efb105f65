package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gridbroker/durable"
	"gridbroker/durable/sqlite"
)

// Health is what a check of the records has found.
type Health struct {
	Records int      `json:"records"` // that can be read
	Damaged []Damage `json:"damaged"`
	File    []string `json:"file"`  // what is wrong with the file itself, in SQLite's words
	Aside   int      `json:"aside"` // damaged records that an earlier repair has set aside
}

// Damage is one record that cannot be read.
type Damage struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Well reports whether nothing is wrong.
func (h Health) Well() bool { return len(h.Damaged) == 0 && len(h.File) == 0 }

// Check reads the whole file: its pages and indexes, and every record against
// its checksum.
func (s *SQLite) Check(ctx context.Context) (_ Health, err error) {
	defer s.tell(&err)
	h := Health{Damaged: []Damage{}, File: []string{}}
	said, err := s.db.QueryContext(ctx, "PRAGMA integrity_check(20)")
	if err != nil {
		return h, err
	}
	defer said.Close()
	for said.Next() {
		var line string
		if err := said.Scan(&line); err != nil {
			return h, err
		}
		if line != "ok" {
			h.File = append(h.File, line)
		}
	}
	if err := said.Err(); err != nil {
		return h, err
	}
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM damaged").Scan(&h.Aside); err != nil {
		return h, err
	}
	bad, good, err := inspect(ctx, s.db)
	h.Records = good
	for _, b := range bad {
		h.Damaged = append(h.Damaged, Damage{b.id, b.err.Error()})
	}
	return h, err
}

// unreadable is a row whose record cannot be read.
type unreadable struct {
	id  string
	row row
	err error
}

// querier is a file or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// inspect reads every record.
func inspect(ctx context.Context, db querier) (bad []unreadable, good int, err error) {
	rows, err := db.QueryContext(ctx, "SELECT id, body, sum FROM jobs ORDER BY id")
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var u unreadable
		var body text
		if err := scanRow(rows, &u.id, &body, &u.row.sum); err != nil {
			return nil, 0, err
		}
		u.row.body = []byte(body)
		if u.err = decodeRow(u.id, u.row.body, u.row.sum, &Record{}); u.err != nil {
			bad = append(bad, u)
		} else {
			good++
		}
	}
	return bad, good, rows.Err()
}

// Repair sets records that cannot be read aside, in a table of their own, and
// makes the indexes anew. It returns what it set aside. Their logs stay.
func (s *SQLite) Repair(ctx context.Context) ([]Damage, error) {
	out := []Damage{}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		bad, _, err := inspect(ctx, tx)
		if err != nil {
			return err
		}
		for _, b := range bad {
			if _, err := tx.Exec("INSERT INTO damaged VALUES (?, ?, ?, ?)", b.id, string(b.row.body), b.row.sum, b.err.Error()); err != nil {
				return err
			}
			if _, err := tx.Exec("DELETE FROM jobs WHERE id = ?", b.id); err != nil {
				return err
			}
			out = append(out, Damage{b.id, b.err.Error()})
		}
		if _, err = tx.Exec("REINDEX"); err != nil {
			return err
		}
		return intact(ctx, tx, s.dir)
	})
	if sqlite.Twice(err) {
		err = &RuinedError{filepath.Join(s.dir, "jobs.db"), err}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// intact tells whether a file is whole now: where pages are at each other's places, indexes that are made anew are written
// over what is none of theirs.
func intact(ctx context.Context, tx *sql.Tx, dir string) error {
	said := ""
	if err := tx.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return &RuinedError{filepath.Join(dir, "jobs.db"), errors.New(said)}
	}
	return nil
}

// Backup writes a copy of all records to a new file, readable for its owner
// only, while others work. It is there when it is whole, and on disk.
func (s *SQLite) Backup(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy job records to %s: %w", path, err)
		}
	}()
	dir, word := filepath.Dir(path), filepath.Base(path)+".new-"
	durable.DiscardKilled(dir, word)
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	temp, err := os.MkdirTemp(dir, fmt.Sprintf("%s%d-*", word, os.Getpid()))
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	whole := filepath.Join(temp, "jobs.db")
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "VACUUM INTO ?", whole); err != nil {
		if sqlite.Ruined(err) {
			s.tell(&err)
		}
		return sqlite.Explain(whole, err) // nothing is written but the copy
	}
	return durable.Rename(whole, path)
}
