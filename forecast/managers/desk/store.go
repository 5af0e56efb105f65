package desk

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"gridbroker/durable/sqlite"
)

// store keeps jobs on disk. What it was told is there when it answers.
type store struct {
	db   *sql.DB
	path string
}

// patience is for how long another process may have the file: a manager's directory belongs to one.
const storePatience = 5 * time.Second

func openStore(dir string) (*store, error) {
	s := &store{path: filepath.Join(dir, "desk.db")}
	var err error
	if s.db, err = sqlite.Open(s.path, sqlite.Settings{Sync: sqlite.Full, Wait: storePatience}); err != nil {
		return nil, err
	}
	if _, err = s.db.Exec("CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID"); err != nil {
		s.db.Close()
		return nil, s.explained(err)
	}
	return s, nil
}

func (s *store) explained(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.path, sqlite.Explain(s.path, err))
}

func (s *store) load() (list []*job, err error) {
	rows, err := s.db.Query("SELECT body FROM jobs")
	if err != nil {
		return nil, s.explained(err)
	}
	defer rows.Close()
	for rows.Next() {
		var body []byte
		j := &job{}
		if err := rows.Scan(&body); err != nil {
			return nil, s.explained(err)
		}
		if err := json.Unmarshal(body, j); err != nil {
			return nil, s.explained(err)
		}
		list = append(list, j)
	}
	return list, s.explained(rows.Err())
}

func (s *store) put(list []*job) error {
	return s.each(list, "INSERT OR REPLACE INTO jobs (id, body) VALUES (?, ?)", func(j *job) ([]any, error) {
		body, err := json.Marshal(j)
		return []any{string(j.ID), body}, err
	})
}

func (s *store) drop(list []*job) error {
	return s.each(list, "DELETE FROM jobs WHERE id = ?", func(j *job) ([]any, error) { return []any{string(j.ID)}, nil })
}

// each runs a statement for every job, or for none.
func (s *store) each(list []*job, text string, args func(*job) ([]any, error)) error {
	if len(list) == 0 {
		return nil
	}
	tx, err := s.db.Begin()
	if err != nil {
		return s.explained(err)
	}
	defer tx.Rollback()
	statement, err := tx.Prepare(text)
	if err != nil {
		return s.explained(err)
	}
	defer statement.Close()
	for _, j := range list {
		values, err := args(j)
		if err == nil {
			_, err = statement.Exec(values...)
		}
		if err != nil {
			return s.explained(err)
		}
	}
	return s.explained(tx.Commit())
}

func (s *store) close() error { return s.db.Close() }
