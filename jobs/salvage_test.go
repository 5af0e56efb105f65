package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// TestSalvage: whichever page of the records' file cannot be read any more, what is
// not on it is kept, a record that had not been sent is not sent by itself, and a
// backup has the rest.
func TestSalvage(t *testing.T) {
	testbed.Computes(t)
	const n, page = 120, 8192
	whole, backup := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("1m%06d", i*7919%1_000_000)
	}
	s := openStore(t, whole)
	rs := records(ids...)
	for i, r := range rs {
		r.JDL = strings.Repeat("x", 300+i%5*700) // some go over several pages
		if i%2 == 0 {
			r.State, r.Handle = plugins.Running, plugins.Handle{Interface: "i", Endpoint: "e", ID: r.ID}
		}
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	s.Close()
	file, err := os.ReadFile(filepath.Join(whole, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	kept, spoilt, none := 0, 0, 0
	t.Run("pages", func(t *testing.T) {
		for at := page; at < len(file); at += page {
			t.Run(fmt.Sprint(at/page), func(t *testing.T) {
				t.Parallel() // it waits for the disk
				salvaged, needed := spoil(t, file, at, backup, rs)
				mu.Lock()
				defer mu.Unlock()
				if needed {
					spoilt, kept = spoilt+1, kept+salvaged
				}
				if needed && salvaged == 0 {
					none++
				}
			})
		}
	})
	t.Logf("%d of %d pages are needed; on average %.1f of %d records are kept without one", spoilt, len(file)/page, float64(kept)/float64(spoilt), n)
	// Without the root of the table none is found: one page of all.
	if none > 1 || kept < n*(spoilt-1)*9/10 {
		t.Errorf("%d pages without which nothing is kept; %d of %d", none, kept, n*spoilt)
	}
}

// spoil has a page of the records' file spoilt and the records made anew, without a backup and with one. It tells how many
// were kept without, and whether the page was needed at all.
func spoil(t *testing.T, file []byte, at int, backup string, rs []*jobs.Record) (salvaged int, needed bool) {
	const page = 8192
	dir, bad := t.TempDir(), slices.Clone(file)
	for i := range page {
		bad[at+i] = byte(i*31 + 7)
	}
	write(t, filepath.Join(dir, "jobs.db"), bad)
	if at/page%3 == 0 {
		var own []*jobs.Record // others have theirs at the same time
		for _, r := range rs {
			c := *r
			own = append(own, &c)
		}
		readAll(t, dir, own)
	}
	if repair(t, dir) {
		return 0, false // nothing but an index was there
	}
	b := rebuild(t, dir, "")
	checkSalvaged(t, dir, rs, b.Salvaged)
	write(t, filepath.Join(dir, "jobs.db"), bad)
	if again := rebuild(t, dir, backup); again.Salvaged+again.Taken != len(rs) {
		t.Errorf("page %d: %d salvaged and %d of the backup, of %d", at/page, again.Salvaged, again.Taken, len(rs))
	}
	return b.Salvaged, true
}

func ruined(err error) bool {
	_, ok := errors.AsType[*jobs.RuinedError](err)
	return ok
}

// readAll reads a store in every way that verbs do. Whatever of it cannot be read is told as ruined, since that says what
// to do; that one record is damaged or gone is told as such.
func readAll(t *testing.T, dir string, rs []*jobs.Record) {
	t.Helper()
	s, err := jobs.OpenStore(dir, func() time.Time { return start })
	if err != nil {
		if !ruined(err) {
			t.Errorf("open: %v", err)
		}
		return
	}
	defer s.Close()
	ctx := t.Context()
	for what, read := range map[string]func() error{
		"all":       func() error { _, err := s.Select(ctx, jobs.Query{}); return err },
		"the last":  func() error { _, err := s.Select(ctx, jobs.Query{Backwards: true, Limit: 3}); return err },
		"count":     func() error { _, err := s.Count(ctx, jobs.Query{Live: true}); return err },
		"one":       func() error { _, err := s.Find(ctx, []string{rs[7].ID}); return err },
		"log":       func() error { _, err := s.Log(ctx, rs[7].ID); return err },
		"under way": func() error { _, err := s.UnderWay(ctx, start); return err },
		"check":     func() error { _, err := s.Check(ctx); return err },
		"backup":    func() error { return s.Backup(ctx, filepath.Join(t.TempDir(), "backup.db")) },
		"note":      func() error { return s.Note(ctx, rs[:1], "note", func(*jobs.Record) string { return "" }) },
		"update": func() error {
			_, err := s.Update(ctx, rs, func(*jobs.Record) (jobs.Change, error) { return jobs.Change{}, nil })
			return err
		},
	} {
		err := read()
		_, damaged := errors.AsType[*jobs.DamagedError](err)
		_, missing := errors.AsType[*jobs.IDError](err)
		if err != nil && !ruined(err) && !damaged && !missing {
			t.Errorf("%s: %T %v", what, err, err)
		}
		if ruined(err) && !strings.Contains(err.Error(), filepath.Join(dir, "jobs.db")) {
			t.Errorf("%s: %v does not name the file", what, err)
		}
	}
}

// repair is what store repair tries first.
func repair(t *testing.T, dir string) bool {
	t.Helper()
	s, err := jobs.OpenStore(dir, func() time.Time { return start })
	if err == nil {
		_, err = s.Repair(t.Context())
		s.Close()
	}
	if err != nil && !ruined(err) {
		t.Fatal(err)
	}
	return err == nil
}

func rebuild(t *testing.T, dir, backup string) *jobs.Rebuilt {
	t.Helper()
	b, err := jobs.Rebuild(t.Context(), dir, backup, func() time.Time { return start })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.Aside); err != nil {
		t.Error(err)
	}
	return b
}

func checkSalvaged(t *testing.T, dir string, all []*jobs.Record, n int) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	got, err := s.Select(t.Context(), jobs.Query{})
	if err != nil || len(got) != n {
		t.Fatalf("%d records, %v, want %d", len(got), err, n)
	}
	if h, err := s.Check(t.Context()); err != nil || !h.Well() {
		t.Fatalf("%+v, %v", h, err)
	}
	was := map[string]*jobs.Record{}
	for _, r := range all {
		was[r.ID] = r
	}
	for _, r := range got {
		want := was[r.ID].State
		if want == plugins.Intended {
			want = plugins.Failed
		}
		if r.State != want || !r.NoRetry || r.JDL != was[r.ID].JDL || r.Handle != was[r.ID].Handle {
			t.Fatalf("%s is %s, want %s", r.ID, r.State, want)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
