package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestSalvage: whichever page of the records' file cannot be read any more, what is
// not on it is kept, a record that had not been sent is not sent by itself, and a
// backup has the rest.
func TestSalvage(t *testing.T) {
	const n, page = 120, 4096
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
	kept, spoilt, none := 0, 0, 0
	for at := page; at < len(file); at += page {
		dir := t.TempDir()
		bad := append([]byte(nil), file...)
		for i := range page {
			bad[at+i] = byte(i*31 + 7)
		}
		write(t, filepath.Join(dir, "jobs.db"), bad)
		if repair(t, dir) {
			continue // nothing but an index was there
		}
		b := rebuild(t, dir, "")
		spoilt, kept = spoilt+1, kept+b.Salvaged
		if b.Salvaged == 0 {
			none++
		}
		checkSalvaged(t, dir, rs, b.Salvaged)
		write(t, filepath.Join(dir, "jobs.db"), bad)
		if b := rebuild(t, dir, backup); b.Salvaged+b.Taken != n {
			t.Errorf("page %d: %d salvaged and %d of the backup, of %d", at/page, b.Salvaged, b.Taken, n)
		}
	}
	t.Logf("%d of %d pages are needed; on average %.1f of %d records are kept without one", spoilt, len(file)/page, float64(kept)/float64(spoilt), n)
	// Without the root of the table none is found: one page of all.
	if none > 1 || kept < n*(spoilt-1)*9/10 {
		t.Errorf("%d pages without which nothing is kept; %d of %d", none, kept, n*spoilt)
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
	if err != nil && !jobs.Ruined(err) {
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
