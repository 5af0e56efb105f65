package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// A delta that cannot be is refused with what is wrong with it, and changes
// nothing of what is there.
func TestBadSlots(t *testing.T) {
	f := newFront(t, nil)
	send := func(body []byte) (int, string) {
		var out struct{ Detail string }
		code := f.ask(f.client(nil), "agent0", "POST", "/v1/clusters/c0/slots", body, &out)
		return code, out.Detail
	}
	if code, said := send(f.delta("c0", 3, nil)); code != 200 {
		t.Fatal(code, said)
	}
	at := f.now.Unix()
	type bad struct {
		name, want string
		body       []byte
	}
	many := func(n int) []byte {
		return f.delta("c0", 0, func(d *wire.Delta) {
			d.Site.Nodes = []wire.Node{{Name: "n", CPUs: 1, Up: true}}
			for i := range n {
				d.Put = append(d.Put, wire.Slot{ID: uint64(i), Node: "n", CPUs: 1, From: at})
			}
		})
	}
	var all []bad
	if testbed.Whole(t) {
		all = append(all, bad{"a million slots", "long", many(1_000_000)}, bad{"too many slots", "are more than", many(250_000)})
	}
	for _, c := range append(all, []bad{
		{"of yesterday", "was made 86400 s ago and good for 600 s", f.delta("c0", 1, func(d *wire.Delta) { d.Made = at - 86400 })},
		{"of tomorrow", "s in the future; set the clocks", f.delta("c0", 1, func(d *wire.Delta) { d.Made = at + 86400 })},
		{"a negative time", "put.from: -5 is no time of this century", f.delta("c0", 1, func(d *wire.Delta) { d.Put[0].From = -5 })},
		{"ends before it begins", "the slot ends at", f.delta("c0", 1, func(d *wire.Delta) { d.Put[0].To = at - 60 })},
		{"a negative life", "ttl: -1", f.delta("c0", 1, func(d *wire.Delta) { d.TTL = -1 })},
		{"no processors", "put.cpus: 0", f.delta("c0", 1, func(d *wire.Delta) { d.Put[0].CPUs = 0 })},
		{"one slot twice", "put.id: 2 comes twice", f.delta("c0", 2, func(d *wire.Delta) { d.Put[0].ID, d.Put[1].ID = 2, 2 })},
		{"another set than its digest", "another digest", f.delta("c0", 2, func(d *wire.Delta) { d.Digest = (&wire.Set{}).Digest() })},
		{"of another cluster", "another cluster", f.delta("c1", 1, nil)},
		{"no document", "schema", []byte("{}")},
		{"noise", "", []byte("\x1f\x8bnoise")},
		{"too long a formula", "site.function", f.delta("c0", 1, func(d *wire.Delta) { d.Site.Function = strings.Repeat("1+", 4096) + "1" })},
	}...) {
		code, said := send(c.body)
		if code != 422 || !strings.Contains(said, c.want) {
			t.Errorf("%s: %d %q, want %q", c.name, code, said, c.want)
		}
	}
	list, err := f.store.Clusters(t.Context(), f.now)
	if err != nil || len(list) != 1 || list[0].Slots != 3 {
		t.Errorf("there are %v, %v", list, err)
	}
}

// An owner's function that cannot be computed, or not for these values, closes
// its cluster, says so, and costs the others nothing.
func TestBadFunctions(t *testing.T) {
	for _, function := range []string{"1/0", "priority / (waiting - waiting)", "priority +", "map(1..1000000, # * #)[0]", "nothing(3)",
		"all(1..100000, all(1..100000, # > 0)) ? 1 : 0", `"text"`, "priority % 0"} {
		t.Run(function, func(t *testing.T) {
			w := newWorld(t, sqliteDSN(t), 5, 0, 2, 2)
			bad := w.sites["c0"].site()
			bad.Function = function
			d := w.sites["c0"].set.Whole()
			d.Cluster, d.Seq, d.Made, d.TTL, d.Site = "c0", 1, w.now.Unix(), 7200, bad
			d.Put = []wire.Slot{{ID: 1, Node: "n0", CPUs: 1, From: w.now.Unix(), Start: 1, Hold: 1}}
			w.sites["c0"].set.Put(d.Put[0])
			d.Digest = w.sites["c0"].set.Digest()
			w.sites["c0"].send(t.Context(), d)
			delete(w.sites, "c0")
			w.names = []string{"c1"}
			id := w.submit("alice", "k", 120)
			began := testbed.Processor(t)
			for range 20 {
				w.step(30)
			}
			if took := testbed.Processor(t) - began; took > testbed.Paced(t, 10*time.Second) {
				t.Errorf("20 cycles took %v", took)
			}
			if j := w.job(id); j.State != Done {
				t.Errorf("the job is %s: %s", j.State, j.Blocked)
			}
			if at := w.booked(id); !slices.Equal(at, []string{"c1"}) {
				t.Errorf("booked at %v", at)
			}
		})
	}
}

// Where the database is full a submission fails and says so, a cycle does
// nothing; when there is room again all goes on.
func TestFullDatabase(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 5, 0, 2)
	w.store.db.SetMaxOpenConns(1) // the bound is a connection's
	id := w.submit("alice", "before", 120)
	var pages int
	if err := w.store.db.QueryRow("pragma page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.db.Exec(fmt.Sprintf("pragma max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 20 {
		text := fmt.Sprintf("[ Executable = \"/bin/true\"; Arguments = %q; ]", strings.Repeat("x", 8000))
		got, err := w.s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: fmt.Sprint("full", i), JDL: text}})
		if err != nil {
			refused++
		} else if got[0].ID == "" {
			t.Error(got)
		}
	}
	if refused == 0 {
		t.Fatal("the database is never full")
	}
	for range 3 {
		w.now = w.now.Add(30 * time.Second)
		w.s.Cycle(t.Context(), w.epoch)
	}
	if _, err := w.store.db.Exec("pragma max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		w.step(30)
	}
	if j := w.job(id); j.State != Done {
		t.Errorf("the job of before is %s: %s", j.State, j.Blocked)
	}
	if list, err := w.s.List(t.Context(), Person{Admin: true}, true, false, 0, 100); err != nil || len(list) != 21-refused {
		t.Errorf("%d jobs, %d were refused, %v", len(list), refused, err)
	}
	if sum, err := w.store.Audit(t.Context()); err != nil || sum != 0 {
		t.Errorf("the ledger adds up to %d, %v", sum, err)
	}
}

// That the disk is full is told as such, to who submits and in the log, and there once a
// minute and not with every request and cycle.
func TestFullDiskIsToldAsSuch(t *testing.T) {
	f := newFront(t, nil)
	var log strings.Builder
	var mu sync.Mutex
	f.s.log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))
	f.api.Log = f.s.log
	f.store.db.SetMaxOpenConns(1) // the bound is a connection's
	f.submit("alice", "before", "[ Executable = \"/bin/true\"; ]")
	var pages int
	if err := f.store.db.QueryRow("pragma page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.db.Exec(fmt.Sprintf("pragma max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[ Executable = \"/bin/true\"; Arguments = %q; ]", strings.Repeat("x", 100_000))
	for i := range 20 {
		var out struct{ Detail string }
		body := map[string]any{"jobs": []Submission{{Key: fmt.Sprint("full", i), JDL: text}}}
		if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, &out); code != 503 || !strings.Contains(out.Detail, "disk is full; nothing was changed") {
			t.Fatalf("%d %q", code, out.Detail)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	f.s.Run(ctx)
	mu.Lock()
	defer mu.Unlock()
	for _, of := range []string{`msg="a request was refused"`, `msg="nothing was planned; the next cycle tries again"`} {
		if n := strings.Count(log.String(), of); n > 1 {
			t.Errorf("%s is told %d times\n%s", of, n, log.String())
		}
	}
	if !strings.Contains(log.String(), "full") {
		t.Errorf("nothing is told: %s", log.String())
	}
}

// writerFunc is a function that is written to.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// What is wrong with a request is said with its place, and a long value is not said back.
func TestLongValuesAreNotSaidBack(t *testing.T) {
	f := newFront(t, nil)
	for value, whole := range map[string]bool{strings.Repeat("x", 1_000_001): false, "now": true} {
		body := fmt.Sprintf(`{"jobs": [{"key": "k", "jdl": "", "fallback": %q, "priority": -3}]}`, value)
		w := f.asked(t.Context(), "alice", "POST", "/v1/jobs", []byte(body))
		if text := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(text, `"body.jobs[0].priority","value":-3`) ||
			!strings.Contains(text, "body.jobs[0].fallback") || strings.Contains(text, `"value":"now"`) != whole || len(text) > 2000 {
			t.Errorf("%d bytes: %d %.600s", len(value), w.Code, text)
		}
	}
}

// A job that is more than a scheduler takes is refused by itself, and told why; the others of its request are taken.
func TestOneTooLargeIsRefusedAlone(t *testing.T) {
	f := newFront(t, nil)
	sub := func(key string, change func(*Submission)) Submission {
		s := Submission{Key: key, JDL: `[ Executable = "/bin/true"; ]`}
		change(&s)
		return s
	}
	files := func(n int) (list []File) {
		for i := range n {
			list = append(list, File{Name: fmt.Sprint("f", i), Body: []byte("x")})
		}
		return list
	}
	long := strings.Repeat(" ", maxJDL)
	jobs := []Submission{
		sub("good", func(*Submission) {}),
		sub("long", func(s *Submission) { s.JDL += long }),
		sub("files", func(s *Submission) { s.Files = files(101) }),
		sub("name", func(s *Submission) { s.Files = []File{{Name: strings.Repeat("n", 256), Body: []byte("x")}} }),
		sub(strings.Repeat("k", 201), func(*Submission) {}),
		sub("", func(*Submission) {}),
		sub("last", func(s *Submission) { s.Files = files(100) }),
	}
	var out struct {
		Jobs   []Taken
		Detail string
		Errors []struct{ Message, Location string }
	}
	if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", map[string]any{"jobs": jobs}, &out); code != 200 || len(out.Jobs) != len(jobs) {
		t.Fatalf("%d, %d answers: %s %v", code, len(out.Jobs), out.Detail, out.Errors)
	}
	for i, want := range []string{"", "its description has 1000029 bytes, the scheduler takes 1000000", "101 files come with it, the scheduler takes 100", "no plain file name", "a key is", "a key is", ""} {
		got := out.Jobs[i]
		if (want == "") != (got.ID != "") || !strings.Contains(got.Error, want) || (want == "") != (got.Error == "") {
			t.Errorf("job %d: %q, %.200q; want %q", i, got.ID, got.Error, want)
		}
	}
}
