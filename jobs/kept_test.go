package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

func states(os []*jobs.Outcome) string {
	var all []string
	for _, o := range os {
		all = append(all, string(o.State))
	}
	return strings.Join(all, " ")
}

// How a job ended stands where there is no place to retry it.
func TestNowhereToRetryKeepsTheEnd(t *testing.T) {
	b, f := rig(t)
	code := glue.Some(9)
	f.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Failed, Started: start, ExitCode: code, Reason: "node died", Node: "n7"}
	}
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true"; RetryCount = 3;`)))
	wait(t, b, os, site("a"))
	o := os[0]
	if o.State != plugins.Failed || o.Reason != "node died; nowhere else to try it: it was tried at every resource that there is (1)" || o.Handle.ID == "" || *o.ExitCode != 9 || o.Host != "n7" || o.Retries != 0 {
		t.Errorf("%+v", o.Record)
	}
}

// What is the job's own fault is not retried; after an exit code it is where
// the job asks for that, and there, too.
func TestWhoseFault(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		end      plugins.Status
		attempts int
	}{
		"own limit":           {`RetryCount = 3;`, plugins.Status{State: plugins.Failed, Fault: plugins.JobsFault}, 1},
		"the site's":          {`RetryCount = 1;`, plugins.Status{State: plugins.Failed, Fault: plugins.SitesFault}, 2},
		"exit code":           {`RetryCount = 3;`, plugins.Status{State: plugins.Done, ExitCode: glue.Some(75)}, 1},
		"exit code asked for": {`RetryCount = 3; RetryOnExit = {75};`, plugins.Status{State: plugins.Done, ExitCode: glue.Some(75)}, 4},
		"another exit code":   {`RetryCount = 3; RetryOnExit = {75};`, plugins.Status{State: plugins.Done, ExitCode: glue.Some(1)}, 1},
	} {
		b, f := rig(t)
		f.status = func(plugins.Handle) plugins.Status { return c.end }
		found := []*glue.Resource{site("a"), site("b")}
		os := submit(t, b, found, set(stored(t, `Executable = "/bin/true"; `+c.text)))
		wait(t, b, os, found...)
		if os[0].Attempts != c.attempts || os[0].State != c.end.State {
			t.Errorf("%s: %d attempts, want %d; %s", name, os[0].Attempts, c.attempts, os[0].State)
		}
	}
}

// The user's interruption leaves jobs as they are, and is held against nobody.
func TestInterruptedWhileSending(t *testing.T) {
	b, f := rig(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.answer = func(endpoint, _ string) error {
		cancel()
		return &plugins.Error{Kind: plugins.Unavailable, Op: "submit", Endpoint: endpoint, Err: context.Canceled}
	}
	told := &recorder{}
	b.Recorders = []plugins.Recorder{told}
	p := plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true";`))
	os, err := b.Submit(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	o := os[0]
	if o.State != plugins.Intended || len(o.Tried) != 0 || len(o.Choices) != 2 || !errors.Is(o.Err, context.Canceled) || told.sent != 0 {
		t.Errorf("%+v, %v; %d attempts told of", o.Record, o.Err, told.sent)
	}
	f.answer = nil
	if err := b.Resubmit(context.Background(), os, jobs.Anew{Discover: always(site("a"))}); err != nil || o.State != plugins.Accepted {
		t.Errorf("%v: %s %v", err, o.State, o.Err)
	}
}

type recorder struct {
	sent  int
	ended string // the states, with a blank behind each
}

func (r *recorder) Sent(_ context.Context, as []plugins.Attempt) error { r.sent += len(as); return nil }
func (r *recorder) Ended(_ context.Context, ends []plugins.End) error {
	for _, e := range ends {
		r.ended += string(e.Status.State) + " "
	}
	return nil
}

// A job that is done well is sent again only when that is asked for; one that
// nothing takes stays as it is.
func TestResubmitKeepsWhatIsGood(t *testing.T) {
	b, f := rig(t)
	f.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	wait(t, b, os)
	o, ctx := os[0], context.Background()
	again := func(a jobs.Anew) {
		t.Helper()
		if err := b.Resubmit(ctx, os, a); err != nil {
			t.Fatal(err)
		}
	}
	again(jobs.Anew{Discover: always(site("b"))})
	if o.State != plugins.Done || o.Err == nil || !strings.Contains(o.Err.Error(), "--force") {
		t.Errorf("%s %v", o.State, o.Err)
	}
	draining := site("a", func(r *glue.Resource) { r.Serving = glue.Draining })
	again(jobs.Anew{Discover: always(draining), Done: true})
	if o.State != plugins.Done || o.Handle.ID == "" || o.Err == nil || len(f.requests) != 1 {
		t.Errorf("nothing takes it: %s %v", o.State, o.Err)
	}
	again(jobs.Anew{Discover: always(site("b")), Done: true})
	if o.State != plugins.Accepted || len(o.Past) != 1 || o.Past[0].State != plugins.Done || *o.Past[0].ExitCode != 0 {
		t.Errorf("%+v", o.Record)
	}
}

// A DAG that failed goes on from the node that failed, in order.
func TestResubmittedDAGGoesOn(t *testing.T) {
	b, f := rig(t)
	node := func(name string, after ...string) *jdl.Job {
		return stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Name, j.Node, j.After = name, name, after })
	}
	dag := &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{node("first"), node("second", "first"), node("third", "second")}}
	os := submit(t, b, []*glue.Resource{site("a")}, dag)
	f.status = func(h plugins.Handle) plugins.Status {
		if strings.HasSuffix(h.ID, os[1].ID) {
			return plugins.Status{State: plugins.Failed, Reason: "disk full"}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	wait(t, b, os, site("a"))
	if got := states(os); got != "done failed failed" {
		t.Fatal(got)
	}
	anew := jobs.Anew{Discover: always(site("a"), site("b"))}
	if err := b.Resubmit(context.Background(), os[2:], anew); err != nil || os[2].Err == nil {
		t.Errorf("the third alone: %v, %v", err, os[2].Err)
	}
	if err := b.Resubmit(context.Background(), os, anew); err != nil {
		t.Fatal(err)
	}
	if got := states(os); got != "done accepted intended" || os[0].Err != nil {
		t.Errorf("%s %v", got, os[0].Err)
	}
	wait(t, b, os, site("a"), site("b"))
	if got := states(os); got != "done done done" {
		t.Error(got)
	}
}

// unanswered is a job that was sent to site a, from where no answer came, and the clock.
func unanswered(t *testing.T) (b *jobs.Controller, f *fake, os []*jobs.Outcome, now *time.Time) {
	t.Helper()
	b, f = rig(t)
	at := start
	b.Clock = clock.Set(func() time.Time { return at })
	f.answer = func(string, string) error { return fault(plugins.Uncertain, "timeout") }
	os = submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	f.answer = nil
	return b, f, os, &at
}

// A slow server: the job arrives when it is given up already and sent
// elsewhere; then it is cancelled there. Where it was not sent again it is the
// job's.
func TestLateArrival(t *testing.T) {
	for _, sent := range []bool{true, false} {
		b, f, os, now := unanswered(t)
		o := os[0]
		for range 3 {
			*now = now.Add(jobs.SettleTime)
			refresh(t, b, os)
		}
		if o.State != plugins.Intended || len(o.Past) != 1 || len(o.Tried) != 0 {
			t.Fatalf("%+v", o.Record)
		}
		if sent {
			if err := b.Resubmit(context.Background(), os, jobs.Anew{Discover: always(site("b"))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.accept(plugins.Request{ID: o.ID, Endpoint: site("a").Endpoints[0]}); err != nil {
			t.Fatal(err)
		}
		*now, f.cancelErr = now.Add(5*time.Hour), fault(plugins.Unavailable, "away")
		refresh(t, b, os)
		if sent && o.Past[0].State == plugins.Cancelled {
			t.Errorf("cancelled, though nobody could be told: %+v", o.Record)
		}
		*now, f.cancels, f.cancelErr = now.Add(5*time.Hour), nil, nil
		refresh(t, b, os)
		switch {
		case !sent && (o.State != plugins.Running || o.Handle.ID != "their-"+o.ID || len(o.Past) != 0 || len(f.cancels) != 0):
			t.Errorf("not adopted: %+v", o.Record)
		case sent && (o.At != "b" || len(f.cancels) != 1 || f.cancels[0] != "their-"+o.ID || o.Past[0].State != plugins.Cancelled):
			t.Errorf("not cancelled: %v %+v", f.cancels, o.Record)
		}
	}
}

// An answer of no known kind says nothing of whether the job has arrived: it is looked for, and not offered to another.
func TestAnswerOfNoKind(t *testing.T) {
	b, f := rig(t)
	f.after = func(string, string) error { return errors.New("odd") }
	os := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true";`)))
	if o := os[0]; o.State != plugins.Submitting || len(f.requests) != 1 {
		t.Fatalf("%s after %v", o.State, f.requests)
	}
	refresh(t, b, os)
	if o := os[0]; o.State != plugins.Running || o.Handle.ID != "their-"+o.ID || len(f.requests) != 1 {
		t.Errorf("%s, %+v after %v", o.State, o.Handle, f.requests)
	}
}

// A look whose answer takes long tells what was there when it was asked: a job that came meanwhile is not sent again.
func TestSlowLook(t *testing.T) {
	b, f, os, now := unanswered(t)
	*now = now.Add(time.Second)
	f.looked = func() { *now = now.Add(jobs.SettleTime) }
	refresh(t, b, os)
	if o := os[0]; o.State != plugins.Submitting || len(o.Past) != 0 {
		t.Fatalf("by what a second after the request was not there: %+v", o.Record)
	}
	if err := f.accept(plugins.Request{ID: os[0].ID, Endpoint: site("a").Endpoints[0]}); err != nil {
		t.Fatal(err)
	}
	refresh(t, b, os)
	if o := os[0]; o.State != plugins.Running || len(f.requests) != 1 {
		t.Errorf("%+v after %v", o.Record, f.requests)
	}
}

// An attempt that was given up arrives while a living process sends the job elsewhere: that one's is the job, and what
// has arrived is cancelled.
func TestLateWhileSending(t *testing.T) {
	b, f, os, now := unanswered(t)
	for range 3 {
		*now = now.Add(jobs.SettleTime)
		refresh(t, b, os)
	}
	*now = now.Add(5 * time.Hour)
	other := newController(func(c *jobs.Controller) { c.Registry, c.Clock, c.Store = b.Registry, b.Clock, openStore(t, f.dir) })
	f.point = func() {
		f.point = nil
		if err := f.accept(plugins.Request{ID: os[0].ID, Endpoint: site("a").Endpoints[0]}); err != nil {
			t.Error(err)
		}
		rs, err := other.Store.Find(context.Background(), []string{os[0].ID})
		if err != nil {
			t.Error(err)
			return
		}
		refresh(t, other, []*jobs.Outcome{{Record: rs[0]}})
	}
	if err := b.Resubmit(context.Background(), os, jobs.Anew{Discover: always(site("b"))}); err != nil {
		t.Fatal(err)
	}
	o := os[0]
	if o.At != "b" || o.Handle.ID == "their-"+o.ID || o.Handle.ID == "" || len(f.cancels) != 1 || f.cancels[0] != "their-"+o.ID || o.Past[0].State != plugins.Cancelled {
		t.Errorf("%v, cancelled %v", o.Record, f.cancels)
	}
}

// Where what became of jobs cannot be recorded, that is said, with their ids,
// and they are not offered further.
func TestUnrecorded(t *testing.T) {
	b, f := rig(t)
	b.Store = &full{Store: b.Store, after: func() bool { return len(f.accepted()) > 0 }}
	p := plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true";`))
	os, err := b.Submit(context.Background(), p)
	u, ok := errors.AsType[*jobs.UnrecordedError](err)
	if !ok || len(u.IDs) != 1 || u.IDs[0] != os[0].ID || !jobs.IsUncertain(os[0].Err) || len(f.accepted()) != 1 {
		t.Errorf("%v; %v; %v", err, os[0].Err, f.accepted())
	}
}

// Where nothing can be recorded before a job is sent, it is not sent, and its error is that of the disk: no other process
// is at it.
func TestFullBeforeSending(t *testing.T) {
	b, f := rig(t)
	b.Store = &full{Store: b.Store, after: func() bool { return true }}
	os, err := b.Submit(context.Background(), plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`)))
	if err == nil || len(os) != 1 || os[0].State != plugins.Intended || !strings.Contains(fmt.Sprint(os[0].Err), "was not sent: database or disk is full") || len(f.accepted()) != 0 {
		t.Errorf("%v; %v; %v", err, os[0].Err, f.accepted())
	}
}

// full is a store whose disk is full after something.
type full struct {
	jobs.Store
	after func() bool
}

func (s *full) Update(ctx context.Context, rs []*jobs.Record, f func(*jobs.Record) (jobs.Change, error)) ([]error, error) {
	if s.after() {
		return nil, errors.New("database or disk is full")
	}
	return s.Store.Update(ctx, rs, f)
}

// Without room for what becomes of jobs nothing is sent.
func TestNoRoomNothingSent(t *testing.T) {
	b, f := rig(t)
	b.Store = noRoom{b.Store}
	p := plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`))
	if _, err := b.Submit(context.Background(), p); err == nil || len(f.requests) != 0 {
		t.Errorf("%v; %v", err, f.requests)
	}
}

type noRoom struct{ jobs.Store }

func (noRoom) Reserve(int) (jobs.Reserve, error) { return nil, errors.New("no space left on device") }

// A job that another process has forgotten counts as lost, has an Err, and nobody waits for it any more.
func TestForgottenCountsAsLost(t *testing.T) {
	b, _ := rig(t)
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true"; RetryCount = 3;`)))
	if err := b.Store.Delete(context.Background(), jobs.Records(os)); err != nil {
		t.Fatal(err)
	}
	refresh(t, b, os)
	if os[0].State != plugins.Lost || os[0].Err == nil {
		t.Errorf("%s %v", os[0].State, os[0].Err)
	}
	if ended, err := b.Step(t.Context(), os, jobs.Waiting{}); err != nil || !ended {
		t.Errorf("waited for on: %v, %v", ended, err)
	}
}

// A process that remembers an older attempt asks about that one: the answer
// says nothing of the attempt another process has made since.
func TestLookUpOfAnOlderAttempt(t *testing.T) {
	b, f := rig(t)
	now := start
	b.Clock = clock.Set(func() time.Time { return now })
	f.answer = func(string, string) error { return fault(plugins.Uncertain, "timeout") }
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	found, err := b.Store.Find(context.Background(), []string{os[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	stale := jobs.Outcomes(found)
	for range 2 {
		now = now.Add(jobs.SettleTime)
		refresh(t, b, os)
	}
	f.answer, f.after = nil, func(string, string) error { return fault(plugins.Uncertain, "timeout") }
	if err := b.Resubmit(context.Background(), os, jobs.Anew{Discover: always(site("b"))}); err != nil || os[0].State != plugins.Submitting {
		t.Fatal(err, os[0].State)
	}
	for range 2 {
		now = now.Add(2 * jobs.SettleTime)
		refresh(t, b, stale)
	}
	if log := actions(t, b, os[0].ID); strings.Count(log, "not found") != 1 {
		t.Error(log)
	}
}
