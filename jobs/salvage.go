package jobs

import (
	"context"
	"database/sql"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gridbroker/durable/sqlite"
)

// Every way to the ids of records in a file of which some pages cannot be read:
// the table and its index, each from both ends, and the log.
var waysToIDs = []string{
	"SELECT id FROM jobs NOT INDEXED ORDER BY id",
	"SELECT id FROM jobs NOT INDEXED ORDER BY id DESC",
	"SELECT id FROM jobs INDEXED BY jobs_by_state ORDER BY state, id",
	"SELECT id FROM jobs INDEXED BY jobs_by_state ORDER BY state DESC, id DESC",
	"SELECT job FROM log NOT INDEXED ORDER BY rowid",
	"SELECT job FROM log NOT INDEXED ORDER BY rowid DESC",
}

// salvageCopy salvages from a copy of the records of DIR, which is made in the
// directory IN: to open a file is to change it. Where the write-ahead log beside them hides
// them all, as one of another database does, they are read without it.
func (s *SQLite) salvageCopy(ctx context.Context, dir, in string) (taken int, lost []string, err error) {
	if info, err := os.Stat(filepath.Join(dir, "jobs.db")); err != nil || !info.Mode().IsRegular() {
		return 0, nil, nil
	}
	for _, names := range [][]string{{"jobs.db", "jobs.db-wal"}, {"jobs.db"}} {
		if err := os.MkdirAll(in, 0o700); err != nil {
			return 0, nil, err
		}
		if err := copyRecords(dir, in, names...); err != nil {
			return 0, nil, err
		}
		if err := lengthen(filepath.Join(in, "jobs.db")); err != nil {
			return 0, nil, err
		}
		if taken, lost, err = s.salvage(ctx, in); err != nil || taken > 0 {
			return taken, lost, err
		}
		if err := os.RemoveAll(in); err != nil {
			return 0, nil, err
		}
	}
	return taken, lost, nil
}

// longest bounds a file of records, in bytes.
const longest = 1 << 36

// lengthen gives a file that was cut short the length that it says it has: SQLite reads nothing of it else. What is
// missing takes no room.
func lengthen(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 32)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil // it has no beginning: SQLite says what it makes of it
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	page := int64(binary.BigEndian.Uint16(head[16:])) // 1: 65536, in the format's words
	if page == 1 {
		page = 1 << 16
	}
	size := page * int64(binary.BigEndian.Uint32(head[28:]))
	if size <= info.Size() || size > longest {
		return nil
	}
	return f.Truncate(size)
}

// salvage takes over what can still be read of the records in DIR/jobs.db, a copy,
// and of their logs, in the place of those that are there. It returns how many that
// are, and the ids of which there is nothing else. Where nothing can be read there are none.
func (s *SQLite) salvage(ctx context.Context, dir string) (taken int, lost []string, err error) {
	db, err := sqlite.Open(filepath.Join(dir, "jobs.db"), sqlite.Settings{Sync: sqlite.Normal})
	if err != nil {
		return 0, nil, err
	}
	defer db.Close()
	if tablesAlone(db) != nil {
		return 0, nil, nil
	}
	ids := map[string]bool{}
	for _, way := range waysToIDs {
		idsBy(ctx, db, way, ids)
	}
	err = s.tx(ctx, func(tx *sql.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, body, sum := rescue(ctx, db, id)
			if r == nil {
				lost = append(lost, id)
				continue
			}
			taken++
			if _, err := tx.Exec("INSERT OR REPLACE INTO jobs (id, state, created, parent, body, sum, loose) VALUES (?, ?, ?, ?, ?, ?, ?)",
				id, string(r.State), r.Created.UnixMilli(), r.Parent, body, sum, milli(r.loose())); err != nil {
				return err
			}
			if err := rescueLog(ctx, db, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, lost, err
}

// idsBy adds the ids of one way, as far as it goes.
func idsBy(ctx context.Context, db *sql.DB, way string, ids map[string]bool) {
	rows, err := db.QueryContext(ctx, way)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if rows.Scan(&id) == nil && id != "" {
			ids[id] = true
		}
	}
}

// rescue reads one record; nil where it is not there, cannot be read, or is not
// what its checksum says.
func rescue(ctx context.Context, db *sql.DB, id string) (r *Record, body, sum string) {
	err := db.QueryRowContext(ctx, "SELECT body, sum FROM jobs NOT INDEXED WHERE id = ?", id).Scan(&body, &sum)
	r = &Record{}
	if err != nil || sum == "" || decode([]byte(body), sum, r) != nil || r.ID != id {
		return nil, "", ""
	}
	return r, body, sum
}

// rescueLog takes a job's entries over, where any can be read.
func rescueLog(ctx context.Context, db *sql.DB, tx *sql.Tx, id string) error {
	rows, err := db.QueryContext(ctx, "SELECT at, action, text FROM log WHERE job = ? ORDER BY at", id)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for first := true; rows.Next(); first = false {
		var at int64
		var action, text string
		if rows.Scan(&at, &action, &text) != nil {
			return nil
		}
		if first {
			if _, err := tx.Exec("DELETE FROM log WHERE job = ?", id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("INSERT INTO log (job, at, action, text) VALUES (?, ?, ?, ?)", id, at, action, text); err != nil {
			return err
		}
	}
	return nil
}
