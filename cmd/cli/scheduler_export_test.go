package cli_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// TestSchedulerExport: the log of a scheduler is written whole, the oldest entry first, a
// line of JSON each, whatever was said in it; a program for jq sees each of them; and where
// there is no log yet it is said what to do.
func TestSchedulerExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, db := filepath.Join(dir, "scheduler.toml"), filepath.Join(dir, "scheduler.db")
	export := func(flags ...string) (int, string, string) {
		return oneShotWith(t, dir, all.Backends(), append([]string{"scheduler", "export", "--file", file}, flags...)...)
	}
	if code, _, errs := oneShotWith(t, dir, all.Backends(), "scheduler", "init", "--file", file); code != 0 {
		t.Fatal(errs)
	}
	if code, out, errs := export(); code != 0 || out != "" {
		t.Errorf("an empty log: code %d %q %s", code, out, errs)
	}
	const entries = 2345 // more than are read at once
	log, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
		insert into log (at, epoch, job, cluster, who, event, said) select i, 0, 'j' || (i % 7), 'c', 'me', 'drained', char(27) || '[2J' || char(10) || i from n`, entries); err != nil {
		t.Fatal(err)
	}
	code, out, errs := export()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if code != 0 || len(lines) != entries || strings.ContainsAny(out, "\x1b\r") {
		t.Fatalf("code %d, %d lines, want %d\n%s%.300s", code, len(lines), entries, errs, out)
	}
	for i, line := range lines {
		var e struct{ Said, Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Said != fmt.Sprintf("\x1b[2J\n%d", i+1) || e.Event != "drained" {
			t.Fatalf("line %d: %v %q", i+1, err, line)
		}
	}
	if code, out, errs := export("--jq", `select(.said | endswith("\n2345")) | .event`); code != 0 || out != "drained\n" {
		t.Errorf("code %d %q %s", code, out, errs)
	}
	if code, out, errs := export("--jq", `.event + 1`); code != 1 || out != "" || !strings.Contains(errs, "--jq") {
		t.Errorf("code %d %q %s", code, out, errs)
	}
	log.Close()
	for _, name := range []string{db, db + "-wal", db + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if code, out, errs := export(); code == 0 || out != "" || !strings.Contains(errs, "run: grid scheduler init") || strings.Contains(errs, "select") {
		t.Errorf("no database: code %d %q %s", code, out, errs)
	}
}
