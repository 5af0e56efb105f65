package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins/forecast"
)

// site is a batch system of the test's: a state that changes as it is told.
type site struct{ state batch.State }

func (s *site) Queue(context.Context) (batch.State, error) { return s.state, nil }

// centre is a scheduler that takes deltas; lose makes it take the next one and
// not answer, refuse makes it not take it.
type centre struct {
	t            *testing.T
	set          wire.Set
	seq          uint64
	jobs         map[string]wire.Entry
	full, deltas int
	asked        int
	lose, refuse bool
	old          bool // it takes no beats
	beats        int
	booked       []wire.Booking
	load         *wire.Load // told last
	site         *wire.Site
	mu           sync.Mutex // the server's goroutines are others
}

// with does something to it.
func (c *centre) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *centre) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ack := wire.Ack{Schema: wire.AckSchema}
	if r.Method == http.MethodGet {
		c.asked++
		ack.Bookings = c.booked
	} else {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			c.t.Error(err)
		}
		if strings.HasSuffix(r.URL.Path, "/beat") {
			c.beat(w, text)
			return
		}
		if c.refuse {
			c.refuse = false
			panic(http.ErrAbortHandler)
		}
		c.take(text)
		ack.Bookings = c.booked
		if c.lose {
			c.lose = false
			panic(http.ErrAbortHandler)
		}
	}
	ack.Seq, ack.Digest = c.seq, c.set.Digest()
	json.NewEncoder(w).Encode(ack)
}

// beat takes a beat, if this is a scheduler that knows them.
func (c *centre) beat(w http.ResponseWriter, text []byte) {
	if c.old {
		http.NotFound(w, nil)
		return
	}
	b, err := wire.DecodeBeat(text, wire.DefaultLimits())
	if err != nil {
		c.t.Fatal(err)
	}
	c.beats++
	ack := wire.Ack{Schema: wire.AckSchema, Seq: c.seq, Digest: c.set.Digest()}
	ack.Resync = b.Seq != c.seq || b.Digest != ack.Digest
	if ack.Same = b.Booked == wire.MarkOf(c.booked, b.Made).String(); !ack.Same {
		ack.Bookings = c.booked
	}
	json.NewEncoder(w).Encode(ack)
}

func (c *centre) take(text []byte) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) && len(text) > 1400 {
		c.t.Errorf("a delta of %d bytes is not compressed", len(text))
	}
	d, err := wire.DecodeDelta(text, wire.DefaultLimits())
	if err != nil {
		c.t.Fatal(err)
	}
	if d.Full {
		c.full++
		c.jobs = map[string]wire.Entry{}
	} else if c.deltas++; d.Seq != c.seq+1 {
		c.t.Errorf("delta %d follows %d", d.Seq, c.seq)
	}
	if err := c.set.Apply(d); err != nil {
		c.t.Error(err)
	}
	c.seq = d.Seq
	if d.Load != nil {
		c.load = d.Load
	}
	if d.Site != nil {
		c.site = d.Site
	}
	for _, e := range d.Jobs {
		c.jobs[e.Task] = e
	}
	for _, task := range d.JobsGone {
		delete(c.jobs, task)
	}
}

type bench struct {
	t    *testing.T
	now  time.Time
	site *site
	c    *centre
	url  string
	file string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: time.Unix(1_800_000_000, 0).UTC(), c: &centre{t: t, jobs: map[string]wire.Entry{}}, file: filepath.Join(t.TempDir(), "memory")}
	b.site = &site{batch.State{Now: b.now, Queues: []batch.Queue{{Name: "all"}}}}
	for i := range 4 {
		b.site.state.Nodes = append(b.site.state.Nodes, batch.Node{Name: fmt.Sprint("n", i), CPUs: 8, Up: true})
	}
	srv := httptest.NewUnstartedServer(b.c)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.Start()
	t.Cleanup(srv.Close)
	b.url = srv.URL
	return b
}

// wait lets time go by in which nothing happens.
func (b *bench) wait(d time.Duration) {
	b.now = b.now.Add(d)
	b.site.state.Now = b.now
}

func (b *bench) agent() *Agent {
	return &Agent{Conf: Config{Cluster: "c", Scheduler: b.url, Memory: b.file, Site: wire.Site{LRMS: "test"}}, Reader: b.site,
		Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Errors: &batch.Errors{}}, HTTP: http.DefaultClient,
		Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler)}
}

// later lets time go by and a job come.
func (b *bench) later(id string, start bool) {
	b.now = b.now.Add(20 * time.Second)
	j := batch.Job{ID: id, Queue: "all", Procs: 4, Requested: time.Hour, Submitted: b.now}
	if start {
		j.Started, j.Placed = b.now, []batch.Placement{{Node: "n0", Procs: 4}}
	}
	b.site.state.Now = b.now
	b.site.state.Jobs = append(b.site.state.Jobs, j)
}

// same holds what the scheduler has against the agent's.
func (b *bench) same(a *Agent) {
	b.t.Helper()
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	if a.known == nil || a.known.set.Digest() != b.c.set.Digest() {
		b.t.Fatal("the sets differ")
	}
	if len(b.c.jobs) != len(b.site.state.Jobs) {
		b.t.Errorf("%d jobs there, %d here", len(b.c.jobs), len(b.site.state.Jobs))
	}
}

// One full set, and deltas from then on: over lost answers, lost requests, and
// restarts of the agent.
func TestResume(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	step := func(a *Agent, fails bool) {
		t.Helper()
		if err := a.Step(t.Context()); (err != nil) != fails {
			t.Fatal(err)
		}
	}
	step(a, false)
	b.later("1", true)
	b.c.with(func() { b.c.lose = true })
	step(a, true)
	b.later("2", true)
	step(a, false)
	b.same(a)
	b.later("3", true)
	b.c.with(func() { b.c.refuse = true })
	step(a, true)
	b.later("4", true)
	step(a, false)
	b.same(a)
	if err := a.save(true); err != nil {
		t.Fatal(err)
	}
	b.later("5", true)
	again := b.agent()
	step(again, false)
	b.same(again)
	b.c.with(func() {
		if b.c.full != 1 || b.c.deltas != 4 || b.c.asked != 3 {
			t.Errorf("%d full sets, %d deltas, asked %d times", b.c.full, b.c.deltas, b.c.asked)
		}
		b.c.set.Clear() // the scheduler has lost it all
		b.c.seq, b.c.jobs = 0, map[string]wire.Entry{}
	})
	b.later("6", true)
	third := b.agent()
	step(third, false)
	b.same(third)
	b.c.with(func() {
		if b.c.full != 2 {
			t.Errorf("%d full sets", b.c.full)
		}
	})
}

type accounts struct {
	list  []batch.Ending
	asked int
}

func (a *accounts) Endings(context.Context, time.Time) ([]batch.Ending, error) {
	if a.asked++; a.list == nil {
		return nil, errors.New("slurmdbd is away")
	}
	return a.list, nil
}

// Accounting is asked where a job is gone from the queue, and only then; its
// silence is no failure.
func TestAccounting(t *testing.T) {
	b := newBench(t)
	a, acc := b.agent(), &accounts{}
	a.Account = acc
	history := batch.NewHistory()
	a.Forecast.Belief = history
	b.later("1", true)
	for range 3 {
		b.now = b.now.Add(20 * time.Second)
		b.site.state.Now = b.now
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if acc.asked != 0 {
		t.Errorf("asked %d times for nothing", acc.asked)
	}
	for _, list := range [][]batch.Ending{nil, {{ID: "1", Started: b.now.Add(-40 * time.Second), Ended: b.now.Add(-10 * time.Second)}}} {
		acc.list = list
		was := b.site.state.Jobs
		b.site.state.Jobs = nil
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.site.state.Jobs = was
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if acc.asked != 2 {
		t.Errorf("asked %d times", acc.asked)
	}
	if text := metrics(t, a); !strings.Contains(text, `grid_agent_jobs_total{event="ended"} 2`) || !strings.Contains(text, "grid_agent_accounting_failures_total 1") {
		t.Error(text)
	}
}

func metrics(t *testing.T, a *Agent) string {
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// Brokers are told starts, lengths and slots from the model.
func TestHandler(t *testing.T) {
	b := newBench(t)
	for i := range 8 {
		b.later(fmt.Sprint(i), false)
		j := &b.site.state.Jobs[i]
		j.Started, j.Placed = b.now, []batch.Placement{{Node: fmt.Sprint("n", i/2), Procs: 4}}
	}
	a := b.agent()
	srv := httptest.NewServer(a.Handler())
	defer srv.Close()
	ask := func(q string) (forecast.Answer, int) {
		resp, err := http.Post(srv.URL+"/forecast", "application/json", strings.NewReader(q))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var answer forecast.Answer
		json.NewDecoder(resp.Body).Decode(&answer)
		return answer, resp.StatusCode
	}
	const question = `{"schema": "grid.forecast/v1", "procs": 8, "nodes": 1, "wall_time": 600, "queues": ["all"]}`
	if _, code := ask(question); code != http.StatusServiceUnavailable {
		t.Errorf("before the first look: %d", code)
	}
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, code := ask(question)
	if code != http.StatusOK || len(answer.Starts) != 1 || answer.Starts[0].Median < 3000 || answer.Starts[0].Median > 3600 {
		t.Errorf("%d %+v", code, answer)
	}
	if _, code := ask(`{"schema": "other"}`); code != http.StatusBadRequest {
		t.Errorf("a question of another kind: %d", code)
	}
	for _, odd := range []string{`"procs": -8`, `"nodes": -1`, `"memory": -1`, `"wall_time": -1`, `"wall_time": 1e300`, `"user": "` + strings.Repeat("u", 300) + `"`} {
		if _, code := ask(`{"schema": "grid.forecast/v1", "queues": ["all"], ` + odd + `}`); code != http.StatusBadRequest {
			t.Errorf("%s: %d", odd, code)
		}
	}
	for _, large := range []string{`"procs": 2000000000`, `"nodes": 2000000000, "procs": 2000000000`, `"memory": 9000000000000000000`, `"gpus": 1000000000`} {
		if answer, code := ask(`{"schema": "grid.forecast/v1", "queues": ["all"], ` + large + `}`); code != http.StatusOK || len(answer.Starts) != 0 {
			t.Errorf("%s: %d, %+v", large, code, answer)
		}
	}
	for path, want := range map[string]string{"/slots": OfferSchema, "/queues": `"running":8`, "/metrics": "grid_agent_slots 8"} {
		resp, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(strings.ReplaceAll(string(text), " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// Guests are no local jobs: what an owner's function, and a monitor, is told of those that wait and run are his own.
func TestLoadIsWithoutGuests(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	step := func() {
		t.Helper()
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.later("own", true)
	b.later("waits", false)
	step()
	from := b.now.Unix() + 120
	for i := range 6 {
		b.c.booked = append(b.c.booked, wire.Booking{Schema: wire.BookingSchema, Job: fmt.Sprint(i), Key: fmt.Sprint(i), From: from, To: from + 600, Procs: 1, Way: wire.Begin, Slots: []wire.Part{{Node: "n1", CPUs: 1}}, Running: i < 2})
	}
	for range 3 { // a beat comes to be due, which is answered with what is booked
		b.wait(41 * time.Second)
		step()
	}
	for i := range 6 {
		j := batch.Job{ID: fmt.Sprint("g", i), Queue: "all", Procs: 1, Requested: 10 * time.Minute, Submitted: b.now}
		if i < 2 {
			j.Started, j.Placed = b.now, []batch.Placement{{Node: "n1", Procs: 1}}
		}
		b.site.state.Jobs = append(b.site.state.Jobs, j)
	}
	b.wait(time.Second)
	step()
	if l := b.c.load; l == nil || l.Waiting != 1 || l.Running != 1 || l.Busy != 6 {
		t.Errorf("told %+v, want 1 waiting, 1 running, 6 processors in use", l)
	}
	if waiting, running := shown(t, a, "grid_agent_local_waiting"), shown(t, a, "grid_agent_local_running"); waiting != 1 || running != 1 {
		t.Errorf("a monitor is told of %v waiting, %v running", waiting, running)
	}
}

// What wall times queues allow is told with the site, and which queue is that of jobs that name none.
func TestWallsAreTold(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	b.site.state.Queues = []batch.Queue{{Name: "all", MaxWallTime: time.Hour, Default: true}, {Name: "long", MaxWallTime: 100 * time.Hour}, {Name: "endless"}}
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"": 3600, "all": 3600, "long": 360_000}; !maps.Equal(b.c.site.Walls, want) {
		t.Errorf("told %v, want %v", b.c.site.Walls, want)
	}
}
