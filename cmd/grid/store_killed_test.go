package main_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the records

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// spoilt is the files of records that repair makes anew.
type spoilt struct {
	file, log []byte
	kept      string // the jobs that are listed after a repair
}

// recordsWithLog makes the files of records: the first of them lie in the file, the others, as a process that was killed
// leaves them, in its write-ahead log alone. Half of the jobs have not been sent.
func recordsWithLog(t *testing.T) (file, log []byte) {
	t.Helper()
	dir := t.TempDir()
	for _, part := range [][2]int{{0, 60}, {60, 100}} {
		s, err := jobs.OpenStore(dir, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		var rs []*jobs.Record
		for i := part[0]; i < part[1]; i++ {
			r := &jobs.Record{ID: fmt.Sprintf("1m%013d", i*7919%1_000_000), Name: "n", State: plugins.Intended, Created: time.Unix(1e9, 0), JDL: strings.Repeat("x", 2500)}
			if i%2 == 0 {
				r.State, r.Handle = plugins.Running, plugins.Handle{Interface: "i", Endpoint: "e", ID: "h"}
			}
			rs = append(rs, r)
		}
		if err := s.Add(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		inDatabase(t, dir, "DELETE FROM place").Close() // wherever they are put they are no copy
		file, log = readFile(t, dir, "jobs.db"), readFile(t, dir, "jobs.db-wal")
		s.Close()
	}
	return file, log
}

// inDatabase lets statements happen, and returns the open database.
func inDatabase(t *testing.T, dir, statements string) io.Closer {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return db
}

// anothersLog is the write-ahead log of a database of an older version.
func anothersLog(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	defer inDatabase(t, dir, "PRAGMA journal_mode = WAL; CREATE TABLE x (y); PRAGMA user_version = 1").Close()
	return readFile(t, dir, "jobs.db-wal")
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// put makes the state directory anew with these files in it.
func (s spoilt) put(t *testing.T, state string) {
	t.Helper()
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(state, "leases"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"jobs.db": s.file, "jobs.db-wal": s.log} {
		if err := os.WriteFile(filepath.Join(state, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// repaired is what a repair that nothing stops makes of it; "": lists did not even need one.
func (s spoilt) repaired(w *world) string {
	s.put(w.t, w.state())
	if kept, code := w.listed(); code == 0 {
		return ""
	} else if kept != "" {
		w.t.Fatalf("exit code %d, and %s is listed", code, kept)
	}
	s.put(w.t, w.state())
	if _, msg, code := w.try("store", "repair"); code != 0 {
		w.t.Fatal(msg)
	}
	kept, _ := w.listed()
	return kept
}

// page is how long the pages of the records' file are.
const page = 8 << 10

// pageSpoilt is records of which a page cannot be read: one without which lists fail and repair keeps most.
func pageSpoilt(w *world) spoilt {
	file, log := recordsWithLog(w.t)
	for at := len(file) - page; at > page; at -= page {
		s := spoilt{file: slices.Concat(file[:at], []byte(strings.Repeat("\xf5 noise ", page/8)), file[at+page:]), log: log}
		if s.kept = s.repaired(w); strings.Count(s.kept, "running") > 30 {
			return s
		}
	}
	w.t.Fatal("no such page")
	return spoilt{}
}

// logOfAnother is records beside which lies the log of another database.
func logOfAnother(w *world) spoilt {
	file, _ := recordsWithLog(w.t)
	s := spoilt{file: file, log: anothersLog(w.t)}
	if s.kept = s.repaired(w); strings.Count(s.kept, "running") != 30 || strings.Contains(s.kept, "intended") {
		w.t.Fatal(s.kept)
	}
	return s
}

func (w *world) state() string { return filepath.Join(w.dir, "state") }

// listed is the jobs that are listed, with their states.
func (w *world) listed() (all string, code int) {
	out, _, code := w.try("list", "--all", "--jq", `.jobs[] | .id + " " + .state`)
	return out, code
}

// killedIn runs the program and kills it at the nth of its calls of a kind; false: it made fewer.
func (w *world) killedIn(call string, n int, args ...string) bool {
	cmd := exec.Command("strace", append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n), w.exe}, args...)...)
	cmd.Env, cmd.Dir = w.env, w.dir
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		w.t.Errorf("killed at %s %d: %v: %s", call, n, err, out)
	}
	return err != nil
}

// killCalls are the kinds of calls that change something on the disk.
var killCalls = []string{"openat", "pwrite64", "write", "fsync", "ftruncate", "linkat", "renameat", "unlinkat", "mkdirat"}

// everyKill kills the program at each of its calls of each kind, every so many of the more frequent ones in an ordinary run.
func (w *world) everyKill(fresh func(), after func(step string), args ...string) {
	most := 3
	if os.Getenv("GRID_LONG") != "" {
		most = 1000
	}
	fresh()
	calls := w.calls(killCalls, args...)
	for _, call := range killCalls {
		total := calls[call]
		for n := 1; n <= total; n += (total + most - 1) / most {
			fresh()
			w.killedIn(call, n, args...)
			after(fmt.Sprintf("killed at %s %d of %d", call, n, total))
		}
	}
}

// calls is how many calls of each kind the program makes.
func (w *world) calls(kinds []string, args ...string) map[string]int {
	cmd := exec.Command("strace", append([]string{"-f", "-qq", "-o", "/dev/stdout", "-e", "trace=" + strings.Join(kinds, ","), "-e", "signal=none", w.exe}, args...)...)
	cmd.Env, cmd.Dir = w.env, w.dir
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	made := map[string]int{}
	for _, kind := range kinds {
		made[kind] = strings.Count(string(out), " "+kind+"(")
	}
	return made
}

// A repair that is killed at any of its calls leaves nothing worse: until it is done the records are told as damaged, and
// are not used as they are, and the next one keeps as much as one that nothing stops.
func TestRepairIsKilled(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for name, make := range map[string]func(*world) spoilt{"a page cannot be read": pageSpoilt, "a log of another database": logOfAnother} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMachine(t)
			s := make(w)
			w.everyKill(func() { s.put(t, w.state()) }, func(step string) {
				if kept, code := w.listed(); code == 0 && kept != s.kept {
					t.Errorf("%s: %d jobs are listed as if all were well", step, strings.Count(kept, "\n"))
				}
				if _, msg, code := w.try("store", "repair"); code != 0 {
					t.Errorf("%s: repair again: exit code %d: %s", step, code, msg)
				}
				if kept, code := w.listed(); kept != s.kept || code != 0 {
					t.Errorf("%s: repaired again, %d of %d jobs are listed, exit code %d", step, strings.Count(kept, "\n"), strings.Count(s.kept, "\n"), code)
				}
				if left, _ := filepath.Glob(filepath.Join(w.state(), "rebuild-*")); len(left) > 0 {
					t.Errorf("%s: %v is left", step, left)
				}
			}, "store", "repair")
		})
	}
}

// A backup that is killed at any of its calls leaves no half file under its name, and is made by who asks again.
func TestBackupIsKilled(t *testing.T) {
	t.Parallel()
	needStrace(t)
	w := newMachine(t)
	file, log := recordsWithLog(t)
	s := spoilt{file: file, log: log}
	to := filepath.Join(w.dir, "backups")
	fresh := func() {
		s.put(t, w.state())
		if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	fresh()
	s.kept, _ = w.listed()
	w.everyKill(fresh, func(step string) {
		if kept, code := w.listed(); kept != s.kept || code != 0 {
			t.Errorf("%s: exit code %d, %d jobs are listed", step, code, strings.Count(kept, "\n"))
		}
		path := filepath.Join(to, "copy.db")
		_, none := os.Stat(path)
		if _, msg, code := w.try("store", "backup", path); (none != nil) != (code == 0) || none == nil && !strings.Contains(msg, "file already exists") {
			t.Errorf("%s: backup again: exit code %d: %s (%v)", step, code, msg, none)
		}
		copied := *w
		copied.env = append(w.env[:len(w.env):len(w.env)], "GRID_STATE_DIR="+filepath.Join(w.dir, "of-backup"))
		if err := errors.Join(os.RemoveAll(filepath.Join(w.dir, "of-backup")), os.Mkdir(filepath.Join(w.dir, "of-backup"), 0o700),
			os.WriteFile(filepath.Join(w.dir, "of-backup", "jobs.db"), readFile(t, to, "copy.db"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if n, code := copied.listed(); strings.Count(n, "\n") != 100 || code != 0 {
			t.Errorf("%s: the backup has %d jobs, exit code %d", step, strings.Count(n, "\n"), code)
		}
		if left, _ := os.ReadDir(to); len(left) != 1 {
			t.Errorf("%s: beside the backup lie %v", step, left)
		}
	}, "store", "backup", filepath.Join(to, "copy.db"))
}

// Where nothing can be written, for a full disk or one that is read-only, records are checked and copied elsewhere all the
// same, and repair says what is wrong and changes nothing; a copy that does not fit leaves nothing.
func TestStoreOnDisksThatTakeNothing(t *testing.T) {
	t.Parallel()
	file, _ := recordsWithLog(t)
	broken := slices.Clone(file)
	copy(broken[2*page:], strings.Repeat("\xf5 noise ", 3*page/8))
	for name, c := range map[string]struct {
		file     []byte
		readOnly bool
		says     string // why nothing can be written
	}{
		"full": {file, false, "no space left on device"}, "read-only": {file, true, "read-only file system"},
		"full, damaged": {broken, false, "no space left on device"}, "read-only, damaged": {broken, true, "read-only file system"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newMachine(t)
			smallDisk(t, w.state(), "1m")
			small := filepath.Join(w.dir, "small")
			smallDisk(t, small, "32k")
			if err := errors.Join(os.Mkdir(filepath.Join(w.state(), "leases"), 0o700), os.WriteFile(filepath.Join(w.state(), "jobs.db"), c.file, 0o600)); err != nil {
				t.Fatal(err)
			}
			if c.readOnly {
				if err := syscall.Mount("none", w.state(), "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
					t.Fatal(err)
				}
			} else {
				fill(t, w.state(), 0)
			}
			damaged := strings.Contains(name, "damaged")
			copied := filepath.Join(w.dir, "copy.db")
			for _, args := range []string{"store check", "store backup " + copied, "store backup " + small + "/copy.db", "store repair"} {
				out, msg, code := w.try(strings.Fields(args)...)
				well := !damaged && (strings.Contains(args, "check") || strings.HasSuffix(args, copied))
				if well != (code == 0) || !strings.Contains(msg, c.says) || !strings.Contains(msg, w.state()) || strings.Contains(msg, "grid-records-") {
					t.Errorf("grid %s: exit code %d\n%s%s", args, code, out, msg)
				}
				if strings.Contains(args, small) && !damaged && (!disksFull.MatchString(msg) || !strings.Contains(msg, small+"/copy.db")) {
					t.Errorf("grid %s: %s", args, msg)
				}
			}
			if now := readFile(t, w.state(), "jobs.db"); string(now) != string(c.file) {
				t.Error("the records have been changed")
			}
			left, _ := os.ReadDir(small)
			if _, err := os.Stat(copied); len(left) > 0 || (err == nil) == damaged {
				t.Errorf("%v; on the small disk are %v", err, left)
			}
		})
	}
}
