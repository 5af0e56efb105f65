package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// holder is a back-end that holds jobs: its states are what it is told.
type holder struct {
	*fake
	held  map[string]bool
	began bool // jobs begin before a hold arrives
	kept  bool // an administrator holds them
	// What Hold and Release give for each job, whether they do nothing, and what happens after them.
	answer error
	deaf   bool
	after  func()
}

func (h *holder) Hold(_ context.Context, hs []plugins.Handle) []error    { return h.set(hs, !h.began) }
func (h *holder) Release(_ context.Context, hs []plugins.Handle) []error { return h.set(hs, h.kept) }

func (h *holder) set(hs []plugins.Handle, held bool) []error {
	errs := make([]error, len(hs))
	for i, j := range hs {
		if errs[i] = h.answer; !h.deaf {
			h.held[j.ID] = held
		}
	}
	if h.after != nil {
		h.after()
	}
	return errs
}

// waitingJob is a job that waits at a back-end that can hold it.
func waitingJob(t *testing.T) (*jobs.Controller, *holder, *jobs.Outcome) {
	t.Helper()
	h := &holder{fake: &fake{dir: t.TempDir()}, held: map[string]bool{}}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: h})
	if err != nil {
		t.Fatal(err)
	}
	h.status = func(j plugins.Handle) plugins.Status {
		switch {
		case h.held[j.ID]:
			return plugins.Status{State: plugins.Held, Reason: "JobHeldUser"}
		case h.began:
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Queued}
	}
	b := newController(func(b *jobs.Controller) { b.Registry, b.Store = reg, openStore(t, h.dir) })
	return b, h, submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))[0]
}

func steer(t *testing.T, do func(context.Context, *jobs.Controller, []*jobs.Outcome) error, b *jobs.Controller, o *jobs.Outcome, want plugins.State, words string) {
	t.Helper()
	o.Err = nil
	if err := do(t.Context(), b, []*jobs.Outcome{o}); err != nil {
		t.Fatal(err)
	}
	if o.State != want || words == "" && o.Err != nil || words != "" && (o.Err == nil || !strings.Contains(o.Err.Error(), words)) {
		t.Errorf("%s %v, want %s %q", o.State, o.Err, want, words)
	}
}

// What became of a hold is what the back-end says of the job afterwards; each is in the log.
func TestHoldAndRelease(t *testing.T) {
	b, h, o := waitingJob(t)
	steer(t, jobs.Release, b, o, plugins.Queued, "only a job that is held")
	steer(t, jobs.Hold, b, o, plugins.Held, "")
	steer(t, jobs.Hold, b, o, plugins.Held, "")
	h.kept = true
	steer(t, jobs.Release, b, o, plugins.Held, "(JobHeldUser): it was not released")
	h.kept = false
	steer(t, jobs.Release, b, o, plugins.Queued, "")
	h.began = true
	h.status = func(plugins.Handle) plugins.Status { // it waits when it is asked about first
		defer func() {
			h.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Running} }
		}()
		return plugins.Status{State: plugins.Queued}
	}
	steer(t, jobs.Hold, b, o, plugins.Running, "it was not held")
	steer(t, jobs.Hold, b, o, plugins.Running, "only a job that waits")
	if got := actions(t, b, o.ID); !strings.Contains(got, "hold held") || !strings.Contains(got, "release queued") {
		t.Error(got)
	}
}

// What fails on the way tells nothing of what was done: the job's state does, where it can be
// asked for, and where it cannot be, no old one passes for it.
func TestHoldThatFails(t *testing.T) {
	b, h, o := waitingJob(t)
	h.answer = &plugins.Error{Kind: plugins.Uncertain, Op: "hold", Endpoint: "a", Err: context.DeadlineExceeded}
	steer(t, jobs.Hold, b, o, plugins.Held, "")
	steer(t, jobs.Release, b, o, plugins.Queued, "")
	h.deaf = true
	steer(t, jobs.Hold, b, o, plugins.Queued, "deadline exceeded")
	h.answer, h.deaf = nil, false
	states := h.status
	h.after = func() { // it dies behind the answer
		h.status = func(plugins.Handle) plugins.Status {
			return plugins.Status{Err: &plugins.Error{Kind: plugins.Unavailable, Op: "status", Endpoint: "a", Err: errors.New("connection refused")}}
		}
	}
	steer(t, jobs.Hold, b, o, plugins.Queued, "not known how it is now: ")
	h.after, h.status = nil, states
	steer(t, jobs.Hold, b, o, plugins.Held, "")
}

// A job that was not sent, and one at a back-end that holds none, are told as that.
func TestHoldOfOthers(t *testing.T) {
	b, _, o := failedJob(t, plugins.Status{State: plugins.Queued}, nil)
	steer(t, jobs.Hold, b, o, plugins.Queued, "cannot hold jobs")
	steer(t, jobs.Hold, b, &jobs.Outcome{Record: &jobs.Record{ID: o.ID, State: plugins.Intended}}, plugins.Intended, "at no back-end yet")
}
