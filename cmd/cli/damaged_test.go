package cli_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver of the records

	"gridbroker/glue"
	"gridbroker/plugins"
)

// TestListsWithDamagedRecords: damaged records are named where they lie among what is shown, count among the jobs there are, and
// stop no verb from dealing with the others; set aside they are gone from all lists.
func TestListsWithDamagedRecords(t *testing.T) {
	t.Parallel()
	l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)}}
	dir := t.TempDir()
	sweep := `JobType = "Parametric"; JobName = "sweep"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 5;`
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(sweep), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", "j.jdl"); code != 0 {
		t.Fatal(out, errs)
	}
	_, text, _ := atLiarIn(t, dir, l, "list", "--jq", ".jobs[].id")
	ids := strings.Fields(text)
	if len(ids) != 5 {
		t.Fatal(ids)
	}
	damage(t, filepath.Join(dir, ".local/state/grid/jobs.db"), ids[1], ids[3])
	for _, c := range []struct {
		args    string
		code    int
		shown   string // places of the jobs
		damaged string
		says    string
	}{
		{"list", 0, "0 2 4", "1 3", ""},
		{"list --limit 1", 0, "0", "", "1 of 5 jobs"},
		{"list --limit 2", 0, "0 2", "1", "2 of 5 jobs"},
		{"list --limit 3", 0, "0 2 4", "1 3", "3 of 5 jobs"},
		{"list --limit 9", 0, "0 2 4", "1 3", "3 of 5 jobs"},
		{"list --limit 1 --sort -id", 0, "4", "", "1 of 5 jobs"},
		{"list --limit 2 --sort -id", 0, "4 2", "3", "2 of 5 jobs"},
		{"list --limit 1 --sort name", 0, "0", "1 3", ""},
		{"list --limit 2 --name sw*", 0, "0 2", "1 3", ""},
		{"list --state done --limit 2", 0, "0 2", "1", "2 of 5 jobs"},
		{"status --all", 0, "0 2 4", "1 3", ""},
		{"log --all", 0, "0 2 4", "1 3", ""},
		{"list $0 $1 $4", 5, "0 4", "1", ""},
		{"status $3 $2", 5, "2", "3", ""},
		{"show $1", 1, "", "1", ""},
		{"store check", 1, "", "", ""},
		{"clean --all --forget", 0, "0 2 4", "1 3", ""},
		{"list", 0, "", "1 3", "no jobs"},
		{"store repair", 0, "", "", ""},
		{"store check", 0, "", "", ""},
		{"list", 0, "", "", "no jobs"},
	} {
		args := strings.NewReplacer("$0", ids[0], "$1", ids[1], "$2", ids[2], "$3", ids[3], "$4", ids[4]).Replace(c.args)
		code, out, errs := atLiarIn(t, dir, l, strings.Fields(args)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("grid %s: code %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
		if strings.HasPrefix(c.args, "store") {
			continue
		}
		var order, named []string
		for line := range strings.Lines(out) {
			for i, id := range ids {
				if at := string(rune('0' + i)); strings.Contains(line, id) && (len(order) == 0 || order[len(order)-1] != at) {
					order = append(order, at)
				}
			}
		}
		for i, id := range ids {
			if strings.Contains(errs, id) && strings.Contains(errs, "is damaged") {
				named = append(named, string(rune('0'+i)))
			}
		}
		if got := strings.Join(order, " "); got != c.shown {
			t.Errorf("grid %s: shows %s, want %s\n%s", c.args, got, c.shown, out)
		}
		if got := strings.Join(named, " "); got != c.damaged {
			t.Errorf("grid %s: names %s as damaged, want %s\n%s", c.args, got, c.damaged, errs)
		}
	}
}

// damage changes a byte of records behind the program's back.
func damage(t *testing.T, file string, ids ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, id := range ids {
		if _, err := db.Exec("UPDATE jobs SET body = replace(body, 'sweep', 'swept') WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
	}
}

const aPipe = "a named pipe"

// TestStateThatIsNone: whatever lies where records, memory and configuration should, a verb that needs it says so at once and changes
// nothing of it; one that can do without does.
func TestStateThatIsNone(t *testing.T) {
	t.Parallel()
	l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)}}
	noise := strings.Repeat("\x00\xff noise", 5000)
	for _, c := range []struct {
		file string // below the state directory
		text string // "": a directory, aPipe: a named pipe
		args string
		code int
		says string
	}{
		{"jobs.db", "garbage", "list", 1, "jobs.db: file is not a database (26)\n  grid store repair "},
		{"jobs.db", noise, "submit j.jdl", 1, "jobs.db: file is not a database"},
		{"jobs.db", noise, "clean --all", 1, "jobs.db: file is not a database"},
		{"jobs.db", noise, "run -- true", 125, "jobs.db: file is not a database"},
		{"jobs.db", noise, "match j.jdl", 0, ""},
		{"jobs.db", "", "list", 1, "jobs.db: is a directory"},
		{"jobs.db", noise, "store repair --backup j.jdl", 1, "j.jdl: job records"},
		{"history.db", noise, "health", 1, "history.db: file is not a database"},
		{"history.db", noise, "health pin den up", 1, "history.db: file is not a database"},
		{"history.db", noise, "match j.jdl", 0, "history.db: file is not a database"},
		{"history.db", noise, "submit --wait j.jdl", 0, "history.db: file is not a database"},
		{"leases", "a file", "submit j.jdl", 1, "leases"},
		{"jobs.db", aPipe, "list", 1, "jobs.db is no regular file"},
		{"jobs.db", aPipe, "submit j.jdl", 1, "jobs.db is no regular file"},
		{"jobs.db", aPipe, "store repair", 1, "jobs.db is no regular file"},
		{"jobs.db-wal", aPipe, "store check", 1, "jobs.db-wal is no regular file"},
		{"jobs.db-wal", aPipe, "store backup b.db", 1, "jobs.db-wal is no regular file"},
		{"jobs.db-journal", aPipe, "run -- true", 125, "jobs.db-journal is no regular file"},
		{"jobs.db.opening", aPipe, "list", 0, ""},
		{"history.db-wal", aPipe, "health", 1, "history.db-wal is no regular file"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, ".local/state/grid", c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		switch c.text {
		case "":
			err = os.Mkdir(file, 0o700)
		case aPipe:
			err = syscall.Mkfifo(file, 0o600)
		default:
			err = os.WriteFile(file, []byte(c.text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := atLiarIn(t, dir, l, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s, grid %s: code %d, want %d and %q\n%s%s", c.file, c.args, code, c.code, c.says, out, errs)
		}
		if c.text == aPipe {
			continue
		}
		if now, err := os.ReadFile(file); c.text != "" && (err != nil || string(now) != c.text) {
			t.Errorf("%s, grid %s: it has been changed: %v", c.file, c.args, err)
		}
	}
}

// TestBadPageIsTold: a verb that meets a page which cannot be read says what helps, and that does help.
func TestBadPageIsTold(t *testing.T) {
	t.Parallel()
	l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)}}
	dir := t.TempDir()
	sweep := `JobType = "Parametric"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 60;`
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(sweep), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", "j.jdl"); code != 0 {
		t.Fatal(out, errs)
	}
	file := filepath.Join(dir, ".local/state/grid/jobs.db")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	// From the last page on: somewhere there is a page of records.
	const page = 4096
	for at := info.Size() - page; ; at -= page {
		if at <= 0 {
			t.Fatal("every page of the records can do without what it says")
		}
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		was := make([]byte, page)
		_, err = f.ReadAt(was, at)
		if _, again := f.WriteAt([]byte(strings.Repeat("\xf5 noise ", page/8)), at); err != nil || again != nil {
			t.Fatal(err, again)
		}
		f.Close()
		code, out, errs := atLiarIn(t, dir, l, "list", "--json")
		if code != 0 && strings.Contains(errs, "malformed") {
			if !strings.Contains(errs, "jobs.db") || !strings.Contains(errs, "\n  grid store repair ") || !strings.Contains(out, "grid store repair") {
				t.Errorf("list says:\n%s%s", out, errs)
			}
			break
		}
		if f, err = os.OpenFile(file, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		f.WriteAt(was, at)
		f.Close()
	}
	if code, out, errs := atLiarIn(t, dir, l, "store", "repair"); code != 0 {
		t.Fatal(out, errs)
	}
	if code, out, errs := atLiarIn(t, dir, l, "list"); code != 0 || !strings.Contains(out, "done") {
		t.Errorf("list after repair: %d\n%s%s", code, out, errs)
	}
}

// Records whose file is no database any more are made anew, with those of a
// backup; what was there is kept, what is lost is said, and nothing is sent twice.
func TestRecordsThatAreNoDatabase(t *testing.T) {
	t.Parallel()
	l := &liar{says: plugins.Status{State: plugins.Running, Native: "running"}}
	for name, spoil := range map[string]func(file string) error{
		"noise": func(file string) error {
			return os.WriteFile(file, []byte(strings.Repeat("\x00\xff noise", 5000)), 0o600)
		},
		"nothing":   func(file string) error { return os.Truncate(file, 0) },
		"directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
			t.Fatal(err)
		}
		grid := func(want int, args string) string {
			t.Helper()
			code, out, errs := atLiarIn(t, dir, l, strings.Fields(args)...)
			if code != want {
				t.Fatalf("%s, grid %s: code %d\n%s%s", name, args, code, out, errs)
			}
			return out + errs
		}
		grid(0, "submit j.jdl")
		grid(0, "store backup copy.db")
		grid(0, "submit j.jdl")
		grid(2, "store repair --backup copy.db")
		file := filepath.Join(dir, ".local/state/grid/jobs.db")
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		grid(1, "list")
		said := grid(0, "store repair --backup copy.db")
		for _, want := range []string{"1 records taken from the backup", "recorded since, is lost", "grid adopt", "jobs.db.damaged-"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said:\n%s", name, want, said)
			}
		}
		if kept, _ := filepath.Glob(file + ".damaged-*"); len(kept) == 0 {
			t.Errorf("%s: what was there is gone", name)
		}
		if list := grid(0, "list"); strings.Count(list, "accepted") != 1 {
			t.Errorf("%s: %s", name, list)
		}
		grid(0, "store check")
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		if said := grid(0, "store repair"); !strings.Contains(said, "All job records are lost") {
			t.Errorf("%s: %s", name, said)
		}
		grid(0, "list")
	}
}

// One page of the records cannot be read: repair keeps the rest, and lists go on.
func TestRecordsWithABadPage(t *testing.T) {
	t.Parallel()
	l := &liar{says: plugins.Status{State: plugins.Running, Native: "running"}}
	dir := t.TempDir()
	grid := func(args string) (int, string) {
		code, out, errs := atLiarIn(t, dir, l, strings.Fields(args)...)
		return code, out + errs
	}
	sweep := `JobType = "parametric"; Parameters = 60; Executable = "/bin/true";`
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(sweep), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := grid("submit j.jdl"); code != 0 {
		t.Fatal(said)
	}
	file := filepath.Join(dir, ".local/state/grid/jobs.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for at := 4096; at < len(whole) && tried < 3; at += 4096 {
		bad := append(append(append([]byte(nil), whole[:at]...), strings.Repeat("\xaa", 4096)...), whole[at+4096:]...)
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _ := grid("list --all --columns id,state"); code == 0 {
			continue
		}
		code, said := grid("store repair")
		if strings.Contains(said, "All job records are lost") {
			continue // it was the root of the table
		}
		tried++
		if code != 0 || !strings.Contains(said, "could be read in it and are kept") {
			t.Fatalf("page %d: code %d\n%s", at/4096, code, said)
		}
		if code, list := grid("list --all --columns id,state"); code != 0 || strings.Count(list, "accepted") < 40 {
			t.Errorf("page %d: code %d, %d jobs\n%s", at/4096, code, strings.Count(list, "accepted"), list)
		}
	}
	if tried == 0 {
		t.Error("no page is needed for a list")
	}
}
