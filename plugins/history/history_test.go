package history

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// bench is a registry with a clock of its own.
type bench struct {
	*Registry
	t     *testing.T
	clock time.Time
	n     int
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, clock: time.Unix(1_800_000_000, 0)}
	r, err := Open(t.TempDir(), func() time.Time { return b.clock })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b.Registry = r
	return b
}

var simulate = &jdl.Job{Executable: "simulate"}

func resource(id string) *glue.Resource {
	return &glue.Resource{ID: id, CE: "ce." + id}
}

// run sends a job, lets it start and end, and tells the registry.
func (b *bench) run(job *jdl.Job, r *glue.Resource, wait, took time.Duration, code int, fs ...rank.Forecast) {
	b.t.Helper()
	id := b.sent(job, r, fs...)
	b.clock = b.clock.Add(wait)
	st := plugins.Status{State: plugins.Done, ExitCode: glue.Some(code), Started: b.clock}
	b.clock = b.clock.Add(took)
	st.Ended = b.clock
	b.ended(id, st)
}

func (b *bench) sent(job *jdl.Job, r *glue.Resource, fs ...rank.Forecast) (id string) {
	b.t.Helper()
	b.n++
	id = fmt.Sprint("job", b.n)
	if err := b.Sent(b.t.Context(), []plugins.Attempt{{ID: id, Job: job, Resource: r, Forecasts: fs}}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// ended tells of an end twice, as two commands may.
func (b *bench) ended(id string, st plugins.Status) {
	b.t.Helper()
	if err := b.Ended(b.t.Context(), []plugins.End{{ID: id, Status: st}, {ID: id, Status: st}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) refuse(r *glue.Resource, kind plugins.Kind) {
	b.t.Helper()
	err := b.Sent(b.t.Context(), []plugins.Attempt{{Job: simulate, Resource: r, Err: &plugins.Error{Kind: kind, Said: "no route to host"}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) of(job *jdl.Job, r *glue.Resource) rank.History {
	b.t.Helper()
	m, err := b.History(b.t.Context(), job, []*glue.Resource{r})
	if err != nil {
		b.t.Fatal(err)
	}
	return m[r.ID]
}

func TestRunTimes(t *testing.T) {
	b := newBench(t)
	slow, fast, unknown := resource("slow"), resource("fast"), resource("unknown")
	slow.Benchmarks = map[string]float64{"hep-spec06": 10}
	fast.Benchmarks = map[string]float64{"hep-spec06": 20}
	b.run(simulate, slow, 0, 100*time.Minute, 0)
	b.run(simulate, slow, 0, 300*time.Minute, 0)
	if got := b.of(simulate, slow).RunTime; got != glue.Some(200*time.Minute) {
		t.Errorf("on the same hardware: %v", got)
	}
	if got := b.of(simulate, fast).RunTime; got != glue.Some(100*time.Minute) {
		t.Errorf("on hardware twice as fast: %v", got)
	}
	if got := b.of(simulate, unknown).RunTime; got != glue.Some(200*time.Minute) {
		t.Errorf("on hardware without a speed: %v", got)
	}
	brief := &jdl.Job{Executable: "brief"}
	b.run(brief, unknown, 0, 0, 0)
	if got := b.of(brief, slow).RunTime; got != glue.Some(time.Second) {
		t.Errorf("began and ended in one second: %v", got)
	}
	untold := &jdl.Job{Executable: "untold"}
	b.ended(b.sent(untold, slow), plugins.Status{State: plugins.Done, ExitCode: glue.Some(0), Ended: b.clock})
	if got := b.of(untold, slow); got.RunTime.OK {
		t.Errorf("nobody said how long it ran: %v", got.RunTime)
	}
	if got := b.of(&jdl.Job{Executable: "other"}, slow).RunTime; got.OK {
		t.Errorf("of another task: %v", got)
	}
	if got := b.of(simulate, slow); got.Jobs != 3 || got.Success != glue.Some(1.0) {
		t.Errorf("an end told twice counts once: %+v", got)
	}
}

func TestForecastsAreCompared(t *testing.T) {
	b := newBench(t)
	r := resource("a")
	for range 4 {
		f := rank.Forecast{Source: "slurm at a", Made: b.clock, Median: 9 * time.Hour}
		b.run(simulate, r, time.Hour, time.Hour, 0, f)
	}
	h := b.of(simulate, r)
	if math.Abs(h.WaitCorrection.V-1.0/9) > 1e-6 {
		t.Errorf("correction %v, want 1/9", h.WaitCorrection)
	}
	if d, ok := b.PastError(t.Context(), "slurm at a"); !ok || d.Round(time.Minute) != 8*time.Hour {
		t.Errorf("past error %v %v, want 8h", d, ok)
	}
}

// The overhead is what jobs take beside their run where they wait for nothing,
// also when most of them wait.
func TestOverhead(t *testing.T) {
	b := newBench(t)
	r := resource("a")
	if b.of(simulate, r).Overhead.OK {
		t.Error("known without a job")
	}
	for i := range 60 {
		wait := time.Duration(20+i%7*600) * time.Second
		b.run(simulate, r, wait, time.Hour, 0)
	}
	if got := b.of(simulate, r).Overhead; !got.OK || got.V < 20*time.Second || got.V > 10*time.Minute {
		t.Errorf("overhead %v, want some minutes at most", got)
	}
	for range 5 {
		b.run(simulate, r, 20*time.Second, time.Hour, 0)
	}
	if got := b.of(simulate, r).Overhead; got.V < 20*time.Second || got.V > time.Minute {
		t.Errorf("overhead %v, want about 20s", got)
	}
}

func TestDeadResource(t *testing.T) {
	b := newBench(t)
	dead := resource("dead")
	b.refuse(dead, plugins.Unavailable)
	h := b.of(simulate, dead)
	if left := h.BannedUntil.Sub(b.clock); left != firstBan {
		t.Fatalf("first ban %v, want %v", left, firstBan)
	}
	previous := firstBan
	for i := range 6 {
		b.clock = h.BannedUntil
		if h = b.of(simulate, dead); h.AtMost != 1 || !h.BannedUntil.IsZero() {
			t.Fatalf("round %d: want one canary, got %+v", i, h)
		}
		b.refuse(dead, plugins.Unavailable)
		h = b.of(simulate, dead)
		ban := h.BannedUntil.Sub(b.clock)
		if ban < previous || ban > longestBan {
			t.Errorf("round %d: ban %v after %v", i, ban, previous)
		}
		previous = ban
	}
	other := resource("dead2")
	other.CE = dead.CE
	if h := b.of(simulate, other); h.BannedUntil.IsZero() {
		t.Error("another queue of the dead host is not banned")
	}
	b.clock = h.BannedUntil
	b.run(simulate, dead, 0, time.Hour, 0)
	if h = b.of(simulate, dead); !h.BannedUntil.IsZero() || h.AtMost != 0 {
		t.Errorf("after a success: %+v", h)
	}
}

func TestErrorsThatAreNotTheResources(t *testing.T) {
	b := newBench(t)
	r := resource("a")
	for _, kind := range []plugins.Kind{plugins.Credential, plugins.Invalid, plugins.Refused, plugins.Refused} {
		b.refuse(r, kind)
	}
	if h := b.of(simulate, r); !h.BannedUntil.IsZero() {
		t.Errorf("banned: %+v", h)
	}
	b.refuse(r, plugins.Refused) // the third in a row
	if h := b.of(simulate, r); h.BannedUntil.IsZero() {
		t.Error("three refusals in a row do not ban")
	}
}

func TestBlackHole(t *testing.T) {
	b := newBench(t)
	hole, good := resource("hole"), resource("good")
	b.run(simulate, good, 0, time.Hour, 0)
	lost := 0
	for range 200 { // a broker that asks before each job
		if h := b.of(simulate, hole); h.BannedUntil.IsZero() {
			b.run(simulate, hole, 0, 2*time.Second, 127)
			lost++
		} else {
			b.run(simulate, good, 0, time.Second, 0)
		}
	}
	if lost < inARow || lost > 5 {
		t.Errorf("%d jobs lost to a black hole", lost)
	}
}

func TestCanaryOfABlackHole(t *testing.T) {
	b := newBench(t)
	hole := resource("hole")
	for range inARow {
		b.run(simulate, hole, 0, time.Second, 127)
	}
	b.clock = b.of(simulate, hole).BannedUntil
	if h := b.of(simulate, hole); h.AtMost != 1 {
		t.Fatalf("no canary: %+v", h)
	}
	if err := b.Sent(t.Context(), []plugins.Attempt{{ID: "canary", Job: simulate, Resource: hole}}); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, hole); h.BannedUntil.IsZero() {
		t.Errorf("a second job beside the canary: %+v", h)
	}
	st := plugins.Status{State: plugins.Done, ExitCode: glue.Some(0), Started: b.clock, Ended: b.clock.Add(time.Hour)}
	if err := b.Ended(t.Context(), []plugins.End{{ID: "canary", Status: st}}); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, hole); !h.BannedUntil.IsZero() || h.AtMost != 0 {
		t.Errorf("after the canary came back: %+v", h)
	}
}

func TestTaskThatFailsEverywhere(t *testing.T) {
	b := newBench(t)
	broken := &jdl.Job{Executable: "broken"}
	a, c := resource("a"), resource("c")
	for range 5 {
		b.run(broken, a, 0, time.Second, 1)
		b.run(broken, c, 0, time.Second, 1)
	}
	if h := b.of(simulate, c); !h.BannedUntil.IsZero() {
		t.Errorf("a broken task had a resource banned: %+v", h)
	}
	// With one resource only its own exit code speaks for the task.
	only := resource("only")
	for range 5 {
		b.run(&jdl.Job{Executable: "wrong"}, only, 0, time.Second, 2)
	}
	if h := b.of(simulate, only); !h.BannedUntil.IsZero() {
		t.Errorf("a broken task had the only resource banned: %+v", h)
	}
}

func TestHealthPinsAndClear(t *testing.T) {
	b := newBench(t)
	r := resource("a")
	for range inARow {
		b.run(simulate, r, 0, time.Second, 127)
	}
	list, err := b.Health(t.Context())
	if err != nil || len(list) != 1 || list[0].State != "banned" || list[0].Failures != inARow || list[0].Success != 0 {
		t.Fatalf("%+v %v", list, err)
	}
	if err := b.Pin(t.Context(), r.ID, true); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, r); !h.BannedUntil.IsZero() {
		t.Errorf("pinned up, but banned: %+v", h)
	}
	b.Pin(t.Context(), r.ID, false)
	if h := b.of(simulate, r); h.BannedUntil.IsZero() {
		t.Error("pinned down, but not banned")
	}
	b.Unpin(t.Context(), r.ID)
	if err := b.Clear(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, r); !h.BannedUntil.IsZero() {
		t.Errorf("cleared, but banned: %+v", h)
	}
	if err := b.Clear(t.Context(), "nobody"); !errors.Is(err, errUnknown) {
		t.Errorf("clear of an unknown resource: %v", err)
	}
}

func TestSilentServices(t *testing.T) {
	b := newBench(t)
	s := b.Services()
	silent := errors.New("no answer")
	for i := range silences {
		if err := s.Open("http://q"); err != nil {
			t.Fatalf("after %d failures: %v", i, err)
		}
		s.Done("http://q", silent)
	}
	if err := s.Open("http://q"); err == nil {
		t.Error("asked again at once")
	}
	b.clock = b.clock.Add(firstBan)
	if err := s.Open("http://q"); err != nil {
		t.Errorf("not asked again: %v", err)
	}
	s.Done("http://q", nil)
	if list, err := b.Health(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// A resource is proven by a good end of the last day, until jobs fail at once
// there, or end well too soon.
func TestProven(t *testing.T) {
	b := newBench(t)
	r, hole, other := resource("a"), resource("hole"), resource("other")
	if b.of(simulate, r).Proven {
		t.Error("proven by nothing")
	}
	for range inARow {
		b.run(simulate, r, 0, time.Hour, 0)
	}
	if !b.of(simulate, r).Proven {
		t.Error("not proven by a good end")
	}
	for i := range inARow {
		b.run(simulate, hole, 0, time.Second, 0)
		if h := b.of(simulate, hole); h.Proven || h.Odd != i+1 || h.RunTime.V != time.Hour {
			t.Errorf("after %d ends too soon: %+v", i+1, h)
		}
	}
	list, err := b.Health(t.Context())
	if err != nil || list[0].Resource != hole.ID || list[0].State != "suspect" || list[0].Odd != inARow {
		t.Errorf("%+v %v", list, err)
	}
	b.run(simulate, other, 0, time.Second, 0) // so it is the task that has changed
	if h := b.of(simulate, other); !h.Proven || h.Odd != 0 {
		t.Errorf("a task that got shorter everywhere: %+v", h)
	}
	if err := b.Clear(t.Context(), hole.ID); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, hole); h.Odd != 0 {
		t.Errorf("cleared: %+v", h)
	}
	b.run(simulate, r, 0, time.Second, 127)
	if b.of(simulate, r).Proven {
		t.Error("proven although a job failed at once since")
	}
	b.run(simulate, r, 0, time.Hour, 0)
	for _, later := range []time.Duration{provenFor + time.Hour, -2 * (provenFor + time.Hour)} {
		b.clock = b.clock.Add(later)
		if b.of(simulate, r).Proven {
			t.Errorf("proven by another day, %s later", later)
		}
	}
}

// Of tasks that take no time at all no end is too soon.
func TestShortTasksAreNeverOdd(t *testing.T) {
	b := newBench(t)
	r := resource("a")
	for range 10 {
		b.run(simulate, r, 0, 0, 0)
	}
	b.run(simulate, r, 0, 30*time.Second, 0)
	b.run(simulate, r, 0, 0, 0)
	if h := b.of(simulate, r); h.Odd != 0 || !h.Proven {
		t.Errorf("%+v", h)
	}
}

// A file of version 1 is brought up to date and keeps what it knows.
func TestMigration(t *testing.T) {
	b := newBench(t)
	b.run(simulate, resource("a"), 0, time.Hour, 0)
	for _, old := range []string{"ALTER TABLE resources DROP COLUMN overhead", "ALTER TABLE resources DROP COLUMN good_at", "ALTER TABLE resources DROP COLUMN odd", "DROP TABLE odd", "DROP TABLE usage", "ALTER TABLE open DROP COLUMN asked", "PRAGMA user_version = 1"} {
		if _, err := b.db.Exec(old); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.migrate(); err != nil {
		t.Fatal(err)
	}
	if h := b.of(simulate, resource("a")); h.Jobs != 1 || h.Proven {
		t.Errorf("%+v", h)
	}
	b.run(simulate, resource("a"), 0, time.Hour, 0)
	if h := b.of(simulate, resource("a")); !h.Proven {
		t.Errorf("%+v", h)
	}
}
