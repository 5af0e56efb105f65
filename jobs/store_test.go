package jobs_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

func openStore(t *testing.T, dir string) *jobs.SQLite {
	t.Helper()
	s, err := jobs.OpenStore(dir, func() time.Time { return start })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func records(ids ...string) []*jobs.Record {
	var rs []*jobs.Record
	for _, id := range ids {
		rs = append(rs, &jobs.Record{ID: id, Name: "n", State: plugins.Intended, Created: start})
	}
	return rs
}

func TestStoreIsForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state ?#%")
	openStore(t, dir)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "jobs.db"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want mode %v", path, info.Mode(), err, want)
		}
	}
}

func TestStoreRefusesTheFuture(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	_, err = jobs.OpenStore(dir, time.Now)
	if err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("schema 99: %v", err)
	}
}

// A program that runs while a newer one brings its records up to date changes
// nothing any more, sends nothing, and says why; it can still read.
func TestNewerVersionMeanwhile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	r := &jobs.Record{ID: "1aaa", Name: "n", JDL: "[]", State: plugins.Intended, Created: time.Now()}
	if err := s.Add(t.Context(), []*jobs.Record{r}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"ALTER TABLE jobs ADD COLUMN later TEXT NOT NULL DEFAULT ''", "PRAGMA user_version = 99"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	rs, err := s.Select(t.Context(), jobs.Query{})
	if err != nil || len(rs) != 1 {
		t.Fatalf("%d records, %v", len(rs), err)
	}
	asked := false
	_, err = s.Update(t.Context(), rs, func(*jobs.Record) (jobs.Change, error) { asked = true; return jobs.Change{}, nil })
	if asked || err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), "jobs.db") {
		t.Errorf("asked: %v, %v", asked, err)
	}
	for what, err := range map[string]error{"add": s.Add(t.Context(), []*jobs.Record{{ID: "1bbb", State: plugins.Intended}}), "delete": s.Delete(t.Context(), rs),
		"note": s.Note(t.Context(), rs, "said", func(*jobs.Record) string { return "x" })} {
		if err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, err := s.Count(t.Context(), jobs.Query{}); err != nil || n != 1 {
		t.Errorf("%d records, %v", n, err)
	}
}

func TestStoreNotADatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jobs.db"), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.OpenStore(dir, time.Now); err == nil || !strings.Contains(err.Error(), "jobs.db") {
		t.Errorf("%v", err)
	}
}

func TestFindByParts(t *testing.T) {
	s := openStore(t, t.TempDir())
	rs := records("1aaaa11", "1aaab22", "1bbb33", "1bbb44")
	rs[2].Parent, rs[3].Parent = "9ccc99", "9ccc99"
	if err := s.Add(context.Background(), rs); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"1aaaa11": "1aaaa11", "1aaaa": "1aaaa11", "1AAAA": "1aaaa11", "ab22": "1aaab22", "9ccc99": "1bbb33 1bbb44", "cc99": "1bbb33 1bbb44",
		"1aaa": "error: 1aaa could be 1aaaa11, 1aaab22", "7777": "error: no job 7777", "%%%%": "error: no job %%%%",
		// Less than four characters could mean a job that nobody thought of.
		"b22": "error: no job b22: say 4 characters of the id or more", "": "error: no job : say 4 characters of the id or more",
	} {
		found, err := s.Find(context.Background(), []string{id})
		got := ""
		if err != nil {
			got = "error: " + err.Error()
			if _, ok := errors.AsType[*jobs.IDError](err); !ok {
				t.Errorf("%q: %T is no IDError", id, err)
			}
		}
		for _, r := range found {
			got = strings.TrimSpace(got + " " + r.ID)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// TestFindGoesOn: what is found comes with what is not; a record that cannot be read is named and could be meant by a part of its id.
func TestFindGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if err := s.Add(context.Background(), records("1aaaa11", "1aaab22", "1bbb33")); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE jobs SET sum = 'x' WHERE id = '1aaab22'"); err != nil {
		t.Fatal(err)
	}
	for ids, want := range map[string]string{
		"1bbb33 7777 1aaaa11":     "1bbb33 1aaaa11; no job 7777",
		"1bbb33 1aaab22 1aaaa11":  "1bbb33 1aaaa11; the record of job 1aaab22 is damaged",
		"1aaa 1bbb33":             "1bbb33; 1aaa could be 1aaaa11, 1aaab22",
		"7777 1bbb33 7777 1BBB33": "1bbb33; no job 7777",
	} {
		found, err := s.Find(context.Background(), strings.Fields(ids))
		if _, ok := errors.AsType[*jobs.UnfoundError](err); !ok {
			t.Errorf("%s: %T %v", ids, err, err)
			continue
		}
		var got []string
		for _, r := range found {
			got = append(got, r.ID)
		}
		if said := strings.Join(got, " ") + "; " + err.Error(); !strings.HasPrefix(said, want) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q", ids, said, want)
		}
	}
}

// Many processes write at once: each with its own opening of the file. No
// change is lost.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	if err := openStore(t, dir).Add(context.Background(), records("1aaa11")); err != nil {
		t.Fatal(err)
	}
	const writers, changes = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		s := openStore(t, dir)
		wg.Go(func() {
			for range changes {
				rs := records("1aaa11")
				_, err := s.Update(context.Background(), rs, func(r *jobs.Record) (jobs.Change, error) {
					r.Attempts++
					return jobs.Change{Action: "count", Text: fmt.Sprint(w)}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := openStore(t, dir)
	rs, err := s.Find(context.Background(), []string{"1aaa11"})
	if err != nil || rs[0].Attempts != writers*changes {
		t.Errorf("%v: %d changes, want %d", err, rs[0].Attempts, writers*changes)
	}
	log, err := s.Log(context.Background(), "1aaa11")
	if err != nil || len(log) != writers*changes+1 {
		t.Errorf("%v: %d log entries, want %d", err, len(log), writers*changes+1)
	}
}

func BenchmarkStore100Jobs(b *testing.B) {
	s, err := jobs.OpenStore(b.TempDir(), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := 0
	for b.Loop() {
		ids := make([]string, 100)
		for i := range ids {
			ids[i] = fmt.Sprintf("%09d", n)
			n++
		}
		rs := records(ids...)
		if err := s.Add(context.Background(), rs); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Update(context.Background(), rs, func(r *jobs.Record) (jobs.Change, error) {
			r.State = plugins.Submitting
			return jobs.Change{Action: "send"}, nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestStoreUpdatesTheOthersOfAForgottenJob(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx := context.Background()
	rs := records("a", "b", "c")
	if err := s.Add(ctx, rs); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, rs[1:2]); err != nil {
		t.Fatal(err)
	}
	errs, err := s.Update(ctx, rs, func(r *jobs.Record) (jobs.Change, error) {
		r.State = plugins.Queued
		return jobs.Change{Action: "queued"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []plugins.State{plugins.Queued, plugins.Intended, plugins.Queued} {
		_, gone := errs[i].(*jobs.GoneError)
		if rs[i].State != want || gone != (i == 1) {
			t.Errorf("job %s: %s, %v; want %s", rs[i].ID, rs[i].State, errs[i], want)
		}
	}
	if left, err := s.Select(ctx, jobs.Query{}); err != nil || len(left) != 2 {
		t.Errorf("%d jobs recorded, %v; want 2", len(left), err)
	}
}

// Looking at jobs that go on writes nothing: with thousands of them that
// would cost more than to ask.
func TestStatusWritesWhatHasChanged(t *testing.T) {
	b, f := rig(t)
	now := start
	b.Clock = clock.Set(func() time.Time { return now })
	rs := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	db, err := sql.Open("sqlite", filepath.Join(f.dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // data_version is counted by connection
	writes := func(step time.Duration, status plugins.Status) bool {
		var before, after int
		if err := db.QueryRow("PRAGMA data_version").Scan(&before); err != nil {
			t.Fatal(err)
		}
		now = now.Add(step)
		f.status = func(plugins.Handle) plugins.Status { return status }
		if err := b.Refresh(context.Background(), rs); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("PRAGMA data_version").Scan(&after); err != nil {
			t.Fatal(err)
		}
		return after != before
	}
	running := plugins.Status{State: plugins.Running, Native: "R", Node: "n1"}
	for i, c := range []struct {
		step   time.Duration
		status plugins.Status
		want   bool
	}{
		{time.Second, running, true},
		{time.Second, running, false},
		{30 * time.Second, running, false},
		{time.Second, plugins.Status{State: plugins.Running, Native: "R", Node: "n2"}, true},
		{5 * time.Minute, plugins.Status{State: plugins.Running, Native: "R", Node: "n2"}, true}, // that it was asked
		{time.Second, plugins.Status{State: plugins.Done, Native: "D", Node: "n2"}, true},
	} {
		if got := writes(c.step, c.status); got != c.want {
			t.Errorf("look %d: wrote %v, want %v", i, got, c.want)
		}
	}
	if again, err := b.Store.Find(context.Background(), []string{rs[0].ID}); err != nil || again[0].State != plugins.Done || again[0].Host != "n2" {
		t.Errorf("%+v %v", again, err)
	}
}

// What a process that was killed had set aside is free when the next one sends, and what a living one has is not.
func TestReserveOfTheDead(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead, living := fmt.Sprintf("jobs.db.reserve-%d-1", ended.Process.Pid), fmt.Sprintf("jobs.db.reserve-%d-1", os.Getppid())
	for _, name := range []string{dead, living} {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	space, err := s.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "jobs.db.reserve-*")); len(left) != 2 {
		t.Errorf("beside its own: %v", left)
	}
	space.Free()
	if left, _ := filepath.Glob(filepath.Join(dir, "jobs.db.reserve-*")); len(left) != 1 || filepath.Base(left[0]) != living {
		t.Errorf("%v", left)
	}
}

// The file takes little more room than what is in it: records of one kilobyte and more share pages.
func TestRoomOfRecords(t *testing.T) {
	for _, length := range []int{400, 1000} {
		dir := t.TempDir()
		s := openStore(t, dir)
		var ids []string
		for i := range 500 {
			ids = append(ids, fmt.Sprintf("1m81m5y0p0%05d", i))
		}
		rs := records(ids...)
		for _, r := range rs {
			r.JDL = strings.Repeat("x", length)
		}
		if err := s.Add(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		s.Close()
		info, err := os.Stat(filepath.Join(dir, "jobs.db"))
		if err != nil {
			t.Fatal(err)
		}
		if each := int(info.Size()) / len(rs); each > 1000+length*5/4 {
			t.Errorf("a record with a description of %d bytes takes %d", length, each)
		}
	}
}
