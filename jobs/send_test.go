package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// rig is a broker over a fake back-end and a store.
func rig(t *testing.T) (*jobs.Controller, *fake) {
	t.Helper()
	f := &fake{dir: t.TempDir()}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: f})
	if err != nil {
		t.Fatal(err)
	}
	return newController(func(b *jobs.Controller) { b.Registry, b.Store = reg, openStore(t, f.dir) }), f
}

func submit(t *testing.T, b *jobs.Controller, rs []*glue.Resource, sets ...*jdl.JobSet) []*jobs.Outcome {
	t.Helper()
	var jobs []*jdl.Job
	for _, s := range sets {
		jobs = append(jobs, s.Jobs...)
	}
	out, err := b.Submit(context.Background(), plan(t, b, rs, jobs...), sets...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(jobs ...*jdl.Job) *jdl.JobSet { return &jdl.JobSet{Kind: jdl.Collection, Jobs: jobs} }

func fault(kind plugins.Kind, said string) error {
	return &plugins.Error{Kind: kind, Op: "submit", Endpoint: "https://x", Said: said}
}

func actions(t *testing.T, b *jobs.Controller, id string) string {
	t.Helper()
	log, err := b.Store.Log(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range log {
		out = append(out, e.Action)
	}
	return strings.Join(out, " ")
}

// The best resource is dead: it costs one request for all jobs, then nothing.
func TestDeadEndpointIsTriedOnce(t *testing.T) {
	b, f := rig(t)
	f.answer = func(endpoint, _ string) error {
		if strings.Contains(endpoint, "best") {
			return fault(plugins.Unavailable, "connection refused")
		}
		return nil
	}
	best := site("best", func(r *glue.Resource) { r.FreeSlots.V, r.TotalSlots.V = 100000, 100000 })
	twin := site("best-long", func(r *glue.Resource) { r.Endpoints = best.Endpoints; r.CE, r.Queue = best.CE, "long" })
	var jobs []*jdl.Job
	for range 1000 {
		jobs = append(jobs, stored(t, `Executable = "/bin/true";`))
	}
	rs := submit(t, b, []*glue.Resource{best, twin, site("other")}, set(jobs...))
	dead := 0
	for _, q := range f.requests {
		if strings.Contains(q, "best") {
			dead++
		}
	}
	if dead > 1 {
		t.Errorf("%d requests to the dead endpoint: %v", dead, f.requests)
	}
	for _, r := range rs {
		if r.State != plugins.Accepted || r.At != "other" {
			t.Fatalf("job %s: %s at %s: %v", r.ID, r.State, r.At, r.Err)
		}
	}
}

func TestNextBestOnRefusal(t *testing.T) {
	b, f := rig(t)
	f.answer = func(endpoint, _ string) error {
		if strings.Contains(endpoint, "//a/") {
			return fault(plugins.Refused, "No more jobs allowed")
		}
		return nil
	}
	job := stored(t, `Executable = "/bin/true"; Rank = other.GlueCEStateFreeJobSlots;`)
	rs := submit(t, b, []*glue.Resource{site("b", func(r *glue.Resource) { r.FreeSlots.V = 1 }), site("a")}, set(job))
	if r := rs[0]; r.At != "b" || r.State != plugins.Accepted || r.Attempts != 2 || r.Handle.ID != "their-"+r.ID+"-2" {
		t.Errorf("%+v", r)
	}
	if got := actions(t, b, rs[0].ID); got != "intend send refused send accepted" {
		t.Error(got)
	}
}

// An uncertain outcome ends the offers: the job may have arrived. The look-up
// settles it either way, and only after a while where the job is not there.
func TestUncertainIsLookedUp(t *testing.T) {
	for name, arrives := range map[string]bool{"arrived": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			b, f := rig(t)
			cut := fault(plugins.Uncertain, "connection reset")
			if arrives {
				f.after = func(string, string) error { return cut }
			} else {
				f.answer = func(string, string) error { return cut }
			}
			rs := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true";`)))
			r := rs[0]
			if len(f.requests) != 1 || r.State != plugins.Submitting || !jobs.IsUncertain(r.Err) {
				t.Fatalf("%v: %s %v", f.requests, r.State, r.Err)
			}
			f.findErr = errors.New("no route to host")
			refresh(t, b, rs)
			if r.State != plugins.Submitting || !jobs.IsUncertain(r.Err) {
				t.Fatalf("endpoint dead: %s %v", r.State, r.Err)
			}
			f.findErr = nil
			refresh(t, b, rs)
			if arrives && (r.State != plugins.Running || r.Handle.ID != "their-"+r.ID) {
				t.Fatalf("found: %+v", r)
			}
			if arrives {
				return
			}
			if r.State != plugins.Submitting || !jobs.IsUncertain(r.Err) {
				t.Fatalf("not found at once: %s %v", r.State, r.Err)
			}
			b.Clock = clock.Set(func() time.Time { return start.Add(jobs.SettleTime) })
			refresh(t, b, rs)
			if r.State != plugins.Intended || r.Err != nil {
				t.Fatalf("not found for good: %s %v", r.State, r.Err)
			}
		})
	}
}

func refresh(t *testing.T, b *jobs.Controller, rs []*jobs.Outcome) {
	t.Helper()
	if err := b.Refresh(context.Background(), rs); err != nil {
		t.Fatal(err)
	}
}

// While a process submits, another one's status leaves its jobs alone.
func TestLivingSubmitterIsLeftAlone(t *testing.T) {
	b, f := rig(t)
	var seen plugins.State
	f.point = func() {
		f.point = nil
		other := newController(func(o *jobs.Controller) { o.Registry, o.Store = b.Registry, openStore(t, f.dir) })
		other.Clock = clock.Set(func() time.Time { return start.Add(time.Hour) })
		rs, err := other.Store.Select(context.Background(), jobs.Query{})
		if err != nil {
			t.Error(err)
			return
		}
		if err := other.Reconcile(context.Background(), jobs.Outcomes(rs)); err != nil {
			t.Error(err)
		}
		seen = rs[0].State
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	if seen != plugins.Submitting || rs[0].State != plugins.Accepted {
		t.Errorf("the other process made it %s; it ended as %s", seen, rs[0].State)
	}
}

func TestBackendsFaultIsUncertain(t *testing.T) {
	b, f := rig(t)
	f.answer = func(string, string) error { panic("index out of range") }
	rs := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true";`)))
	if !jobs.IsUncertain(rs[0].Err) || !strings.Contains(rs[0].Err.Error(), "index out of range") {
		t.Errorf("%v", rs[0].Err)
	}
}

func TestNobodyTakesIt(t *testing.T) {
	b, f := rig(t)
	f.answer = func(endpoint, _ string) error { return fault(plugins.Refused, "full: "+endpoint) }
	rs := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true";`)))
	if r := rs[0]; r.State != plugins.Failed || !strings.HasPrefix(r.Reason, "nobody took it; the last said: submit https://x: full:") || r.Attempts != 2 {
		t.Errorf("%s: %s", r.State, r.Reason)
	}
}

func TestInterruptedBeforeSending(t *testing.T) {
	b, f := rig(t)
	p := plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`))
	rs, err := b.Intend(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Send(ctx, rs); err != nil {
		t.Fatal(err)
	}
	if len(f.requests) != 0 || rs[0].State != plugins.Intended || !errors.Is(rs[0].Err, context.Canceled) {
		t.Errorf("%v %s %v", f.requests, rs[0].State, rs[0].Err)
	}
}

func wait(t *testing.T, b *jobs.Controller, rs []*jobs.Outcome, found ...*glue.Resource) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := b.Wait(ctx, rs, jobs.Waiting{Pause: time.Millisecond,
		Discover: always(found...)})
	if err != nil {
		t.Fatal(err)
	}
}

// A job that fails is sent again as RetryCount allows, never to where it
// failed; then it stays failed.
func TestRetries(t *testing.T) {
	b, f := rig(t)
	f.status = func(h plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Failed, Native: "FAILED", Started: start, Reason: "node died"}
	}
	found := []*glue.Resource{site("a"), site("b"), site("c"), site("d")}
	rs := submit(t, b, found, set(stored(t, `Executable = "/bin/true"; RetryCount = 2;`)))
	wait(t, b, rs, found...)
	r := rs[0]
	if r.State != plugins.Failed || r.Attempts != 3 || len(r.Tried) != 3 || len(r.Past) != 2 || r.Retries != 2 {
		t.Errorf("%+v", r)
	}
	seen := map[string]bool{}
	for _, at := range r.Tried {
		if seen[at] {
			t.Errorf("tried %v", r.Tried)
		}
		seen[at] = true
	}

	rs = submit(t, b, found[:2], set(stored(t, `Executable = "/bin/true"; RetryCount = 9;`)))
	wait(t, b, rs, found[:2]...)
	if r := rs[0]; r.State != plugins.Failed || len(r.Tried) != 2 || !strings.Contains(r.Reason, "it was tried at every resource that there is (2)") {
		t.Errorf("%+v", r)
	}
}

// TestCleanWhileCancelled: who has cancelled a job that still runs is not told to cancel it.
func TestCleanWhileCancelled(t *testing.T) {
	b, f := rig(t)
	rs := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Running} }
	for _, want := range []string{"cancel it first", "is being cancelled: clean it when that is done"} {
		if err := b.Clean(context.Background(), rs, false); err != nil || rs[0].Err == nil || !strings.Contains(rs[0].Err.Error(), want) {
			t.Errorf("%v, %v, want %s", err, rs[0].Err, want)
		}
		rs[0].Err = nil
		if err := b.Cancel(context.Background(), rs); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledIsNotRetried(t *testing.T) {
	b, f := rig(t)
	rs := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true"; RetryCount = 2;`)))
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Failed, Native: "KILLED"} }
	if err := b.Cancel(context.Background(), rs); err != nil {
		t.Fatal(err)
	}
	wait(t, b, rs)
	if len(f.requests) != 1 || len(f.cancels) != 1 {
		t.Errorf("requests %v, cancels %v", f.requests, f.cancels)
	}
}
