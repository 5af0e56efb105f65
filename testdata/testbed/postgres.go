package testbed

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Postgres makes a database of the test's own at the testbed's server, and gives its
// URL. Without the server the test is left out.
func Postgres(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GRID_TESTBED_DIR")
	if dir == "" {
		dir = "/tmp/grid-testbed"
	}
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "url"))
	if err != nil {
		t.Skip("no PostgreSQL of the testbed: ", err)
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("grid_test_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := db.Exec("create database " + name); err != nil {
		t.Skip("PostgreSQL of the testbed does not answer: ", err)
	}
	t.Cleanup(func() {
		db, err := sql.Open("pgx", strings.TrimSpace(string(text)))
		if err == nil {
			defer db.Close()
			db.Exec("drop database if exists " + name + " with (force)")
		}
	})
	u.Path = "/" + name
	return u.String()
}
