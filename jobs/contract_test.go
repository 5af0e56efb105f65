package jobs

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

func opened(t *testing.T, dir string) *SQLite {
	t.Helper()
	s, err := OpenStore(dir, func() time.Time { return lifeStart })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fullRecord is one in which no field is empty.
func fullRecord(id string) *Record {
	code := 3
	r := inState(plugins.Running)
	r.ID, r.Name, r.File, r.JDL, r.Parent, r.Node, r.MaxRunning = id, "n", "f", "[]", "1ppp", "node", 2
	r.Category, r.MaxInCategory = "c", 3
	r.Origin, r.After, r.Slots, r.Created, r.ExitCode = Origin{Sources: []string{"s"}}, []string{"x"}, 4, lifeStart, &code
	r.Uncertain, r.Since, r.Fault, r.WallTime = lifeStart, clock.Reading{Start: "s", Up: 7}, plugins.SitesFault, time.Hour
	return r
}

// TestGroupsHaveAnIndex: nobody reads all records to find a group's, or that there is none of an id.
func TestGroupsHaveAnIndex(t *testing.T) {
	s := opened(t, t.TempDir())
	ofQuery, _ := Query{Parent: "1ppp"}.where()
	for _, where := range []string{ofQuery, ofGroup} {
		var id, above, unused int
		var plan string
		if err := s.db.QueryRow("EXPLAIN QUERY PLAN SELECT id, body, sum FROM jobs WHERE "+where+" ORDER BY id", "1ppp").Scan(&id, &above, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, "jobs_by_parent") {
			t.Errorf("%s: %s", where, plan)
		}
	}
}

// The contract of a Store, for each there is.
func TestStores(t *testing.T) {
	stores := map[string]func(t *testing.T) Store{
		"sqlite": func(t *testing.T) Store { return opened(t, t.TempDir()) },
		"memory": func(*testing.T) Store { return NewMemory(func() time.Time { return lifeStart }) },
	}
	for name, open := range stores {
		t.Run(name+"/round trip", func(t *testing.T) { roundTrip(t, open(t)) })
		t.Run(name+"/update", func(t *testing.T) { updates(t, open(t)) })
		t.Run(name+"/select", func(t *testing.T) { selects(t, open(t)) })
		t.Run(name+"/lease", func(t *testing.T) { leases(t, open(t)) })
	}
}

func roundTrip(t *testing.T, s Store) {
	ctx := context.Background()
	want := fullRecord("1aaa")
	if err := s.Add(ctx, []*Record{want}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ctx, []*Record{fullRecord("1bbb"), want}); err == nil {
		t.Error("a job was recorded twice")
	}
	all, err := s.Select(ctx, Query{})
	if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], want) {
		t.Errorf("%v: %+v", err, all)
	}
	all[0].Tried[0] = "changed"
	if again, err := s.Find(ctx, []string{"1aaa"}); err != nil || again[0].Tried[0] != "a" {
		t.Errorf("what was read is what is kept: %v", err)
	}
	sent, err := s.UnderWay(ctx, lifeStart)
	if err != nil || len(sent["b"]) != 1 || sent["b"][0].Slots != 4 || !sent["b"][0].At.Equal(lifeStart) {
		t.Errorf("under way: %v %v", sent, err)
	}
	// A job that was adopted where nobody said which queue it is in counts for none, and hides no other.
	adopted := fullRecord("1zzz")
	adopted.Resource, adopted.Sent = "", time.Time{}
	if err := s.Add(ctx, []*Record{adopted}); err != nil {
		t.Fatal(err)
	}
	if sent, err := s.UnderWay(ctx, lifeStart); err != nil || len(sent) != 1 || len(sent["b"]) != 1 {
		t.Errorf("under way beside an adopted one: %v %v", sent, err)
	}
}

func updates(t *testing.T, s Store) {
	ctx := context.Background()
	rs := []*Record{fullRecord("1aaa"), fullRecord("1bbb"), fullRecord("1ccc")}
	if err := s.Add(ctx, rs); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, rs[1:2]); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	errs, err := s.Update(ctx, rs, func(r *Record) (Change, error) {
		r.Name = "new"
		if r.ID == "1ccc" {
			return Change{}, no
		}
		return Change{"rename", "to new"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, gone := errs[1].(*GoneError)
	if errs[0] != nil || !gone || !errors.Is(errs[2], no) || rs[0].Name != "new" || rs[2].Name != "n" {
		t.Errorf("%v: %q %q", errs, rs[0].Name, rs[2].Name)
	}
	log, err := s.Log(ctx, "1aaa")
	if err != nil || len(log) != 2 || log[1].Action != "rename" || log[1].Text != "to new" {
		t.Errorf("%v %v", log, err)
	}
	if log, err := s.Log(ctx, "1ccc"); err != nil || len(log) != 1 {
		t.Errorf("%v %v", log, err)
	}
}

func selects(t *testing.T, s Store) {
	ctx := context.Background()
	rs := []*Record{fullRecord("1ccc"), fullRecord("1aaa"), fullRecord("1bbb")}
	rs[0].State, rs[0].Past = plugins.Done, nil
	rs[2].Created, rs[2].Parent = lifeStart.Add(time.Hour), ""
	if err := s.Add(ctx, rs); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(ctx, rs, func(r *Record) (Change, error) { r.Name = "m"; return Change{}, nil }); err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]Query{
		"1aaa 1bbb 1ccc": {}, "1aaa 1bbb": {Live: true}, "1ccc": {States: []plugins.State{plugins.Done, plugins.Lost}},
		"1bbb": {Since: lifeStart.Add(time.Minute)}, "1aaa 1ccc": {Parent: "1ppp"},
	} {
		got, err := s.Select(ctx, q)
		if err != nil || ids(got) != want {
			t.Errorf("%+v: %s %v, want %s", q, ids(got), err, want)
		}
	}
	for want, q := range map[string]Query{
		"1aaa 1bbb": {Limit: 2}, "1ccc 1bbb 1aaa": {Backwards: true}, "1ccc 1bbb": {Backwards: true, Limit: 2},
		"1bbb": {Live: true, Backwards: true, Limit: 1}, "1aaa 1bbb 1ccc": {Limit: 9},
	} {
		got, err := s.Select(ctx, q)
		if err != nil || ids(got) != want {
			t.Errorf("%+v: %s %v, want %s", q, ids(got), err, want)
		}
	}
	for want, q := range map[int]Query{3: {Limit: 1}, 2: {Live: true}, 1: {Since: lifeStart.Add(time.Minute), Backwards: true}, 0: {Parent: "1"}} {
		if got, err := s.Count(ctx, q); err != nil || got != want {
			t.Errorf("%+v: %d records %v, want %d", q, got, err, want)
		}
	}
	if got, err := s.Select(ctx, Query{Made: time.UnixMilli(1)}); err != nil || ids(got) != "1aaa 1bbb 1ccc" {
		t.Errorf("made since 1970: %s %v", ids(got), err)
	}
	if got, err := s.Select(ctx, Query{Made: lifeStart.AddDate(900, 0, 0)}); err != nil || ids(got) != "" {
		t.Errorf("made in 900 years: %s %v", ids(got), err)
	}
	for at, want := range map[time.Duration]string{0: "1aaa 1bbb", 2 * time.Hour: ""} {
		if got, err := s.Select(ctx, Query{Loose: lifeStart.Add(at)}); err != nil || ids(got) != want {
			t.Errorf("loose after %s: %s %v, want %s", at, ids(got), err, want)
		}
	}
}

func ids(rs []*Record) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

func leases(t *testing.T, s Store) {
	l, err := s.Lease("1lease")
	if err != nil || !s.Alive(l.Name()) || s.Alive("other") || s.Alive("") {
		t.Fatalf("%v", err)
	}
	if l.End(); s.Alive("1lease") {
		t.Error("a lease that has ended is alive")
	}
	space, err := s.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	space.Free()
	space.Free()
}

// One record that cannot be read is named and left out; the others go on.
func TestDamagedRecord(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := opened(t, dir)
	rs := []*Record{fullRecord("1aaa"), fullRecord("1bbb"), fullRecord("1ccc")}
	if err := s.Add(ctx, rs); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"UPDATE jobs SET body = substr(body, 1, 100) WHERE id = '1aaa'", `UPDATE jobs SET body = replace(body, '"name":"n"', '"name":"m"') WHERE id = '1bbb'`} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	left, err := s.Select(ctx, Query{})
	damaged, ok := errors.AsType[*DamagedError](err)
	if !ok || ids(left) != "1ccc" || strings.Join(damaged.IDs, " ") != "1aaa 1bbb" {
		t.Fatalf("%s, %v", ids(left), err)
	}
	if got, err := s.Select(ctx, Query{Limit: 1}); ids(got) != "1ccc" || !errors.As(err, &damaged) || len(damaged.IDs) != 2 {
		t.Errorf("the first that can be read: %s %v", ids(got), err)
	}
	if got, err := s.Select(ctx, Query{Limit: 1, Backwards: true}); ids(got) != "1ccc" || err != nil {
		t.Errorf("the last, with damaged ones behind it: %s %v", ids(got), err)
	}
	errs, err := s.Update(ctx, rs, func(r *Record) (Change, error) { r.Host = "x"; return Change{}, nil })
	if _, bad := errs[0].(*DamagedError); err != nil || !bad || errs[1] == nil || errs[2] != nil || rs[2].Host != "x" {
		t.Errorf("%v %v", errs, err)
	}
	if h, err := s.Check(ctx); err != nil || h.Well() || h.Records != 1 || len(h.Damaged) != 2 || len(h.File) != 0 {
		t.Errorf("%+v %v", h, err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(ctx, copied); err != nil {
		t.Error(err)
	}
	if aside, err := s.Repair(ctx); err != nil || len(aside) != 2 {
		t.Errorf("%v %v", aside, err)
	}
	if h, err := s.Check(ctx); err != nil || !h.Well() || h.Aside != 2 {
		t.Errorf("%+v %v", h, err)
	}
	if left, err := s.Select(ctx, Query{}); err != nil || ids(left) != "1ccc" {
		t.Errorf("%s %v", ids(left), err)
	}
}

// Records of the schema before checksums open, and have one from their next
// change on.
func TestOldRecordsOpen(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	old := `{"id":"1aaa","name":"n","jdl":"[]","state":"running","resource":"r","handle":{"interface":"i","endpoint":"https://e","id":"h"},` +
		`"past":[{"resource":"q","handle":{"interface":"i","endpoint":"https://q","id":"g"},"state":"failed","reason":"node died"}],` +
		`"attempts":2,"tried":["q","r"],"retries":1,"shallow":0,"created":"2026-11-21T06:00:00Z","updated":"2026-11-21T06:00:00Z"}`
	for _, q := range []string{migrations[0], "PRAGMA user_version = 1", "INSERT INTO jobs VALUES ('1aaa', 'running', 1, '', '" + old + "')"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	s := opened(t, dir)
	rs, err := s.Select(ctx, Query{})
	if err != nil || len(rs) != 1 || rs[0].requestID() != "1aaa-2" || rs[0].Past[0].Handle.ID != "g" || rs[0].Past[0].loose(lifeStart) {
		t.Fatalf("%v %+v", err, rs)
	}
	if _, err := s.Update(ctx, rs, func(r *Record) (Change, error) {
		return r.Apply(Seen{Status: plugins.Status{State: plugins.Done}}, lifeStart)
	}); err != nil {
		t.Fatal(err)
	}
	var sum string
	if err := s.db.QueryRow("SELECT sum FROM jobs").Scan(&sum); err != nil || sum == "" {
		t.Errorf("checksum %q, %v", sum, err)
	}
}

// Many processes open a file that is not there yet at the same time.
func TestFirstOpenTogether(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	for range 24 {
		go func() {
			s, err := OpenStore(dir, time.Now)
			if err == nil {
				err = errors.Join(s.Add(context.Background(), nil), s.Close())
			}
			errs <- err
		}()
	}
	for range 24 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
