package cli_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// A program beside a database of the next version says so, and does not say that all is as it wants it; one whose database
// is further ahead is not sent to init, which would do nothing.
func TestSchemaOfNewerPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(verb string) (int, string) {
		code, out, errs := oneShotWith(t, dir, all.Backends(), "scheduler", verb, "--file", filepath.Join(dir, "scheduler.toml"))
		return code, out + errs
	}
	if code, said := run("init"); code != 0 || !strings.Contains(said, "the database is up to date") {
		t.Fatalf("init: code %d\n%s", code, said)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "scheduler.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, want := range []struct {
		code int
		says string
	}{{0, "schema of the next version"}, {1, "run that program"}} {
		if _, err := db.Exec("insert into goose_db_version (version_id, is_applied) select max(version_id) + 1, 1 from goose_db_version"); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"init", "doctor"} {
			if code, said := run(verb); code != want.code || !strings.Contains(said, want.says) || strings.Contains(said, "up to date") {
				t.Errorf("%s: code %d, want %d and %q\n%s", verb, code, want.code, want.says, said)
			}
		}
	}
}
