package jobs_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the records

	"gridbroker/durable/sqlite"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// spoilt are records in a file of theirs, to be damaged.
type spoilt struct {
	rs   []*jobs.Record
	file []byte
}

func newSpoilt(t *testing.T) spoilt {
	t.Helper()
	dir := t.TempDir()
	var ids []string
	for i := range 120 {
		ids = append(ids, fmt.Sprintf("1m%06d", i*7919%1_000_000))
	}
	short, err := sqlite.Open(filepath.Join(dir, "jobs.db"), sqlite.Settings{Sync: sqlite.Full, Page: 4096}) // as files of earlier versions are: with more to go wrong
	if err == nil {
		err = errors.Join(short.Ping(), short.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	rs := records(ids...)
	for i, r := range rs {
		r.JDL, r.State, r.Handle = strings.Repeat("x", 300+i%5*1700), plugins.Running, plugins.Handle{Interface: "i", Endpoint: "e", ID: r.ID}
		if i > 0 && i%2 == 0 {
			r.Parent = ids[0]
		}
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	s.Close()
	file, err := os.ReadFile(filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	return spoilt{rs, file}
}

// mended repairs what lies in a directory as the command does. Each record must be there then, or named; what is there must be
// well, and as it was.
func (s spoilt) mended(t *testing.T, dir string) (kept int) {
	t.Helper()
	named := map[string]bool{}
	store, err := jobs.OpenStore(dir, func() time.Time { return start })
	if err == nil {
		var aside []jobs.Damage
		aside, err = store.Repair(t.Context())
		store.Close()
		for _, d := range aside {
			named[d.ID] = true
		}
	}
	switch {
	case ruined(err):
		b := rebuild(t, dir, "")
		for _, id := range b.Lost {
			named[id] = true
		}
	case err != nil:
		t.Fatal(err)
	}
	store = openStore(t, dir)
	defer store.Close()
	if h, err := store.Check(t.Context()); err != nil || !h.Well() {
		t.Fatalf("%+v, %v", h, err)
	}
	got, err := store.Select(t.Context(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]*jobs.Record{}
	for _, r := range s.rs {
		was[r.ID] = r
	}
	for _, r := range got {
		if w := was[r.ID]; w == nil || w.JDL != r.JDL || w.Handle != r.Handle || w.State != r.State {
			t.Fatalf("%s is another", r.ID)
		}
		named[r.ID] = true
	}
	for _, r := range s.rs {
		if !named[r.ID] {
			t.Errorf("%s is neither there nor named", r.ID)
		}
	}
	return len(got)
}

// TestRecordsCutShort: of a file that was cut short what is left is kept, and what is only named in it is named.
func TestRecordsCutShort(t *testing.T) {
	s := newSpoilt(t)
	pages := len(s.file) / 4096
	all := 0
	for _, cut := range []int{pages * 4096 / 2, (pages - 20) * 4096, (pages-2)*4096 + 1234, (pages - 1) * 4096} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "jobs.db"), s.file[:cut])
		kept := s.mended(t, dir)
		t.Logf("%d of %d bytes: %d of %d", cut, len(s.file), kept, len(s.rs))
		all += kept
	}
	if all < 2*len(s.rs) {
		t.Errorf("%d records are kept of four times %d", all, len(s.rs))
	}
}

// TestSwappedPages: pages that are at each other's places are not written over by a repair: after it the file is whole, and every
// record is there or named.
func TestSwappedPages(t *testing.T) {
	s := newSpoilt(t)
	pages := len(s.file) / 4096
	// At the first a repair finds a record twice, at the next three it writes over what is none of an index.
	pairs := [][2]int{{108, 3}, {97, 75}, {75, 50}, {96, 143}}
	for i := range 20 {
		pairs = append(pairs, [2]int{1 + i*7%(pages-1), 1 + (i*31+11)%(pages-1)})
	}
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		t.Run(fmt.Sprint(a, b), func(t *testing.T) {
			t.Parallel()
			dir, bad := t.TempDir(), slices.Clone(s.file)
			copy(bad[a*4096:], s.file[b*4096:][:4096])
			copy(bad[b*4096:], s.file[a*4096:][:4096])
			write(t, filepath.Join(dir, "jobs.db"), bad)
			if kept := s.mended(t, dir); kept < len(s.rs)/3 && a > 8 && b > 8 { // the roots lie before
				t.Errorf("%d are kept", kept)
			}
		})
	}
}

// TestForeignLog: a write-ahead log of another database is not written over the records; they are kept, and it is set aside.
func TestForeignLog(t *testing.T) {
	s := newSpoilt(t)
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", other+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE jobs (id TEXT, x TEXT)"); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := db.Exec("INSERT INTO jobs VALUES (?, ?)", fmt.Sprint(i), strings.Repeat("y", 900)); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.ReadFile(other + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "jobs.db"), s.file)
	write(t, filepath.Join(dir, "jobs.db-wal"), log)
	for range 2 { // a verb that meets it changes nothing
		if _, err := jobs.OpenStore(dir, func() time.Time { return start }); !ruined(err) {
			t.Fatal(err)
		}
	}
	if now, _ := os.ReadFile(filepath.Join(dir, "jobs.db")); !bytes.Equal(now, s.file) {
		t.Error("the records have changed")
	}
	if kept := s.mended(t, dir); kept != len(s.rs) {
		t.Errorf("%d of %d are kept", kept, len(s.rs))
	}
}

// TestRecordsOfOthers: a row that holds the record of another job, whose checksum is right, and one that holds none, are named, and
// the others can be read.
func TestRecordsOfOthers(t *testing.T) {
	s := newSpoilt(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.db")
	write(t, path, s.file)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		fmt.Sprintf("UPDATE jobs SET (body, sum) = (SELECT body, sum FROM jobs WHERE id = '%s') WHERE id = '%s'", s.rs[1].ID, s.rs[2].ID),
		fmt.Sprintf("UPDATE jobs SET body = '{\"id\": 7}', sum = '' WHERE id = '%s'", s.rs[3].ID),
		fmt.Sprintf("UPDATE jobs SET body = 12, sum = 13 WHERE id = '%s'", s.rs[4].ID),
		"PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, 'body TEXT NOT NULL', 'body TEXT') WHERE name = 'jobs'", "PRAGMA writable_schema = RESET",
		fmt.Sprintf("UPDATE jobs SET body = NULL WHERE id = '%s'", s.rs[5].ID),
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(q, err)
		}
	}
	db.Close()
	store := openStore(t, dir)
	h, err := store.Check(t.Context())
	if err != nil || len(h.Damaged) != 4 || h.Records != len(s.rs)-4 {
		t.Errorf("%+v, %v", h, err)
	}
	if got, _ := store.Select(t.Context(), jobs.Query{}); len(got) != len(s.rs)-4 {
		t.Errorf("%d of %d can be read", len(got), len(s.rs))
	}
	store.Close()
	if kept := s.mended(t, dir); kept != len(s.rs)-4 {
		t.Errorf("%d are kept", kept)
	}
}
