package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// restarting is a back-end that lets jobs go on.
type restarting struct {
	*fake
	err   error // the answer to Restart
	asked []string
}

func (r *restarting) Restart(_ context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	for i, h := range hs {
		r.asked, errs[i] = append(r.asked, h.ID), r.err
	}
	return errs
}

// failedJob is a job that has ended at a back-end that can let it go on.
func failedJob(t *testing.T, st plugins.Status, answer error) (*jobs.Controller, *restarting, *jobs.Outcome) {
	t.Helper()
	r := &restarting{fake: &fake{dir: t.TempDir()}, err: answer}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: r})
	if err != nil {
		t.Fatal(err)
	}
	b := newController(func(b *jobs.Controller) { b.Registry, b.Store = reg, openStore(t, r.dir) })
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	r.status = func(plugins.Handle) plugins.Status { return st }
	look(t, b, os[0])
	return b, r, os[0]
}

func look(t *testing.T, b *jobs.Controller, o *jobs.Outcome) {
	t.Helper()
	if err := b.Refresh(t.Context(), []*jobs.Outcome{o}); err != nil {
		t.Fatal(err)
	}
}

func restart(t *testing.T, b *jobs.Controller, o *jobs.Outcome) {
	t.Helper()
	if err := jobs.Restart(t.Context(), b, []*jobs.Outcome{o}); err != nil {
		t.Fatal(err)
	}
}

func later(b *jobs.Controller, by time.Duration) {
	b.Clock = clock.Set(func() time.Time { return start.Add(by) })
}

var fetchFailed = plugins.Status{State: plugins.Failed, Native: "FAILED", Reason: "cannot fetch in.dat"}

// A job that goes on where it failed is followed, though its back-end tells the old for a
// while; how it had failed stays, and that it fails again is believed.
func TestRestartedJobIsFollowed(t *testing.T) {
	b, r, o := failedJob(t, fetchFailed, nil)
	restart(t, b, o)
	if o.Err != nil || o.State != plugins.Accepted || o.Handle.ID == "" || len(r.asked) != 1 || len(o.Past) != 1 || o.Past[0].Reason != fetchFailed.Reason {
		t.Fatalf("%v %+v, asked %v", o.Err, o.Record, r.asked)
	}
	later(b, time.Minute)
	if look(t, b, o); o.State != plugins.Accepted {
		t.Errorf("what the back-end said before the restart is taken for what came of it: %s %s", o.State, o.Reason)
	}
	r.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Running} }
	if look(t, b, o); o.State != plugins.Running {
		t.Error(o.State)
	}
	r.status = func(plugins.Handle) plugins.Status { return fetchFailed }
	if look(t, b, o); o.State != plugins.Failed {
		t.Errorf("that it failed again is not believed: %s", o.State)
	}
	if got := actions(t, b, o.ID); !strings.Contains(got, "restart") {
		t.Error(got)
	}
}

// One that fails anew for another reason, or of which nothing else is heard for long, has
// failed.
func TestRestartedJobFailsAgain(t *testing.T) {
	b, r, o := failedJob(t, fetchFailed, nil)
	restart(t, b, o)
	r.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Failed, Reason: "cannot store out.dat"}
	}
	if look(t, b, o); o.State != plugins.Failed || o.Reason != "cannot store out.dat" {
		t.Errorf("%s %s", o.State, o.Reason)
	}
	b, _, o = failedJob(t, fetchFailed, fault(plugins.Uncertain, "cut"))
	if restart(t, b, o); o.State != plugins.Accepted || !jobs.IsUncertain(o.Err) {
		t.Errorf("nobody follows a job that may go on: %s %v", o.State, o.Err)
	}
	later(b, 10*time.Minute)
	if look(t, b, o); o.State != plugins.Failed || o.Reason != fetchFailed.Reason {
		t.Errorf("%s %s", o.State, o.Reason)
	}
}

// Where the back-end refuses, the job is what it was.
func TestRefusedRestartChangesNothing(t *testing.T) {
	b, _, o := failedJob(t, fetchFailed, fault(plugins.Refused, "No more restarts allowed"))
	before := *o.Record
	restart(t, b, o)
	if o.Err == nil || o.State != plugins.Failed || o.Reason != before.Reason || o.Ended != before.Ended || o.Handle != before.Handle || len(o.Past) != len(before.Past) {
		t.Errorf("%v\n%+v\nbefore\n%+v", o.Err, o.Record, before)
	}
	if got := actions(t, b, o.ID); !strings.Contains(got, "not restarted") {
		t.Error(got)
	}
}

// A job whose program ran to its end, one that goes on, and one at a back-end that cannot
// are left alone, with what to do instead.
func TestWhoCannotBeRestarted(t *testing.T) {
	b, r, o := failedJob(t, plugins.Status{State: plugins.Done, ExitCode: glue.Some(3)}, nil)
	if restart(t, b, o); o.Err == nil || !strings.Contains(o.Err.Error(), "exit code 3: grid resubmit --same") || o.State != plugins.Done {
		t.Errorf("%v %s", o.Err, o.State)
	}
	b2, _, o2 := failedJob(t, plugins.Status{State: plugins.Running}, nil)
	if restart(t, b2, o2); o2.Err == nil || !strings.Contains(o2.Err.Error(), "running") {
		t.Error(o2.Err)
	}
	if len(r.asked) > 0 {
		t.Error(r.asked)
	}
	b3, f := rig(t)
	os := submit(t, b3, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	f.status = func(plugins.Handle) plugins.Status { return fetchFailed }
	look(t, b3, os[0])
	if restart(t, b3, os[0]); os[0].Err == nil || os[0].State != plugins.Failed || errors.Is(os[0].Err, context.Canceled) {
		t.Errorf("%v %s", os[0].Err, os[0].State)
	}
}
