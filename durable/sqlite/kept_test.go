package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/durable/sqlite"
)

// A statement that is kept is another one each time it is used within itself, sees
// what the last use has not bound, and outlives changes of the schema and mistakes.
func TestStatementsKept(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlite.Full, time.Second)
	db.SetMaxOpenConns(1)
	do(t, db, "create table t (a integer primary key, b text)")
	for i := range 3 {
		do(t, db, "insert into t values (?, ?)", i, fmt.Sprint("row ", i))
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if got := pairs(t, tx); got != 9 {
		t.Errorf("a query within itself: %d pairs of 3 rows", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := db.Exec("insert into t values (?, ?)", 1, "again"); err == nil {
			t.Fatal("a key was taken twice")
		}
	}
	do(t, db, "insert into t values (?, ?)", 3, nil)
	do(t, db, "alter table t add column c integer default 7")
	do(t, db, "insert into t (a) values (4)")
	var b sql.NullString
	var columns int
	rows, err := db.Query("select * from t where a = ?", 3)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := rows.Columns()
	columns = len(names)
	for rows.Next() {
		if err := rows.Scan(new(int), &b, new(int)); err != nil {
			t.Error(err)
		}
	}
	rows.Close()
	if columns != 3 || b.Valid {
		t.Errorf("%d columns, %v", columns, b)
	}
	do(t, db, "drop table t")
	if _, err := db.Exec("insert into t values (?, ?)", 5, "x"); err == nil {
		t.Error("a table that is gone was written to")
	}
}

// BenchmarkStatement runs one that a prepared one is faster than.
func BenchmarkStatement(b *testing.B) {
	db, err := sqlite.Open(filepath.Join(b.TempDir(), "x.db"), sqlite.Settings{Sync: sqlite.Off, Wait: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("create table t (a integer primary key, b text)"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := db.Exec("insert into t (b) select value from json_each(?) where true on conflict do update set b = excluded.b", `["a", "b"]`); err != nil {
			b.Fatal(err)
		}
	}
}

func do(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(query, err)
	}
}

// pairs counts what a query finds within itself.
func pairs(t *testing.T, tx *sql.Tx) (n int) {
	const all = "select a from t"
	outer, err := tx.Query(all)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	for outer.Next() {
		inner, err := tx.Query(all)
		if err != nil {
			t.Fatal(err)
		}
		for inner.Next() {
			n++
		}
		inner.Close()
	}
	return n
}
