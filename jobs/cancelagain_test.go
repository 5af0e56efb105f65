package jobs_test

import (
	"errors"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// A cancellation that did not arrive, as the computing element was down, is asked for again by whoever
// follows the job once it answers, a minute after the last time and not with each look.
func TestCancelIsAskedAgain(t *testing.T) {
	st := plugins.Status{State: plugins.Running}
	b, f, o := failedJob(t, st, nil)
	now := b.Clock.Now()
	b.Clock = clock.Set(func() time.Time { return now })
	os := []*jobs.Outcome{o}
	f.cancelErr = fault(plugins.Unavailable, "connection refused")
	if err := b.Cancel(t.Context(), os); err != nil || o.Err == nil || o.Cancelled.IsZero() {
		t.Fatalf("%v, %v, asked for at %v", err, o.Err, o.Cancelled)
	}
	f.status = func(plugins.Handle) plugins.Status {
		if f.cancelErr == nil && len(f.cancels) > 1 {
			st = plugins.Status{State: plugins.Cancelled}
		}
		return st
	}
	step := func(after time.Duration, asked int, want plugins.State) {
		t.Helper()
		now = now.Add(after)
		if _, err := b.Step(t.Context(), os, jobs.Waiting{}); err != nil || len(f.cancels) != asked || o.State != want {
			t.Errorf("after %v: asked for %d times, %s, %v; want %d, %s", after, len(f.cancels), o.State, err, asked, want)
		}
	}
	down := f.status
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{Err: errors.New("connection refused")} }
	step(2*time.Minute, 1, plugins.Running)
	f.status, f.cancelErr = down, nil
	now = o.Cancelled
	step(30*time.Second, 1, plugins.Running)
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Running} }
	step(31*time.Second, 2, plugins.Running)
	step(-3*time.Hour, 3, plugins.Running) // the clock is set back
	f.status = down
	step(time.Second, 3, plugins.Cancelled)
}
