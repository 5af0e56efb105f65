package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// queueing is a job that waits at "one", where the queue is long now, while
// "two" has free slots.
type queueing struct {
	*jobs.Controller
	*fake
	now  time.Time
	os   []*jobs.Outcome
	wait jobs.Waiting
}

func newQueueing(t *testing.T) *queueing {
	b, f := rig(t)
	q := &queueing{Controller: b, fake: f, now: start}
	b.Clock = clock.Set(func() time.Time { return q.now })
	f.status = func(h plugins.Handle) plugins.Status {
		if contains(f.cancels, h.ID) {
			return plugins.Status{State: plugins.Cancelled}
		}
		return plugins.Status{State: plugins.Queued}
	}
	q.os = submit(t, b, []*glue.Resource{site("one")}, set(stored(t, `Executable = "/bin/true"; WallTime = 600;`)))
	q.wait = jobs.Waiting{Replan: jobs.Replanning{After: 30 * time.Minute}, Discover: func(context.Context, jobs.Origin) ([]*glue.Resource, error) {
		busy := func(r *glue.Resource) {
			r.Created, r.FreeSlots, r.Waiting = q.now, glue.Some[int64](0), glue.Some[int64](500)
			r.EstimatedWait = glue.Some(48 * time.Hour)
		}
		return []*glue.Resource{site("one", busy), site("two", func(r *glue.Resource) { r.Created = q.now })}, nil
	}}
	return q
}

func contains(list []string, x string) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// for d looks every five minutes.
func (q *queueing) run(t *testing.T, d time.Duration) {
	t.Helper()
	for end := q.now.Add(d); q.now.Before(end); q.now = q.now.Add(5 * time.Minute) {
		if _, err := q.Step(context.Background(), q.os, q.wait); err != nil {
			t.Fatal(err)
		}
	}
}

// A job that waits where others would run it at once is taken back and sent
// there once, and never to and fro.
func TestReplanMovesOnce(t *testing.T) {
	q := newQueueing(t)
	q.run(t, 25*time.Minute)
	if n := len(q.accepted()); n != 1 {
		t.Fatalf("moved before its time: %v", q.accepted())
	}
	q.run(t, 24*time.Hour)
	o := q.os[0]
	if len(q.accepted()) != 2 || len(q.cancels) != 1 || o.Resource != "two" || o.Moves != 1 || o.State != plugins.Queued || !o.TakenBack.IsZero() {
		t.Errorf("sent %v, cancelled %v; it is %s at %s", q.accepted(), q.cancels, o.State, o.Resource)
	}
	if len(o.Past) != 1 || o.Past[0].State != plugins.Cancelled || o.Past[0].Resource != "one" || o.Retries != 0 {
		t.Errorf("past %+v", o.Past)
	}
}

// The worse and the less sure it is what a newcomer would wait for, the less it keeps a job: what is left of its own
// wait is not as unsure as that.
func TestReplanFromALongQueue(t *testing.T) {
	q := newQueueing(t)
	if q.run(t, time.Hour); q.os[0].Resource != "two" {
		t.Errorf("after an hour it is at %s", q.os[0].Resource)
	}
}

// A place that looks best and is not known to run jobs neither draws a job out of a
// queue nor keeps it from going to the best of those that are.
func TestReplanToWhatIsKnown(t *testing.T) {
	for known, want := range map[string]int{"two": 2, "one": 1} {
		q := newQueueing(t)
		q.Scouts = jobs.NewScouts(5, true)
		q.Services.Historians = []plugins.Historian{proven(known)}
		discover := q.wait.Discover
		q.wait.Discover = func(ctx context.Context, o jobs.Origin) ([]*glue.Resource, error) {
			rs, err := discover(ctx, o)
			return append(rs, site("new", func(r *glue.Resource) {
				r.Created, r.EstimatedWait, r.Benchmarks = q.now, glue.Some[time.Duration](0), map[string]float64{"hep-spec06": 100}
			})), err
		}
		q.run(t, 6*time.Hour)
		if o := q.os[0]; len(q.accepted()) != want || o.Resource != known {
			t.Errorf("%s is known: sent %v, it is at %s", known, q.accepted(), o.Resource)
		}
	}
}

// proven is a history of one resource where jobs end well.
type proven string

func (proven) Name() string { return "history" }

func (p proven) History(context.Context, *jdl.Job, []*glue.Resource) (map[string]rank.History, error) {
	return map[string]rank.History{string(p): {Proven: true, Jobs: 10, Success: glue.Some(1.0)}}, nil
}

// Without --replan nothing moves.
func TestReplanIsOff(t *testing.T) {
	q := newQueueing(t)
	q.wait.Replan = jobs.Replanning{}
	q.run(t, 6*time.Hour)
	if len(q.accepted()) != 1 || len(q.cancels) != 0 {
		t.Errorf("sent %v, cancelled %v", q.accepted(), q.cancels)
	}
}

// A cancellation whose outcome is not known is none: the job is where it is,
// also once it runs. One that took effect later sends the job on, whoever sees it.
func TestReplanUncertainCancel(t *testing.T) {
	for _, late := range []bool{false, true} {
		q := newQueueing(t)
		q.cancelErr = errors.New("no answer")
		gone := false
		q.status = func(h plugins.Handle) plugins.Status {
			if gone && h.Endpoint == "https://one/arex" {
				return plugins.Status{State: plugins.Cancelled}
			}
			return plugins.Status{State: plugins.Queued}
		}
		q.run(t, 4*time.Hour)
		if len(q.cancels) == 0 || len(q.accepted()) != 1 || q.os[0].State != plugins.Queued || q.os[0].TakenBack.IsZero() {
			t.Fatalf("sent %v, cancelled %v: %s", q.accepted(), q.cancels, q.os[0].State)
		}
		if !late {
			q.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Running} }
			q.run(t, time.Hour)
			if len(q.accepted()) != 1 || q.os[0].State != plugins.Running {
				t.Errorf("a running job was sent again: %v", q.accepted())
			}
			continue
		}
		gone = true
		rs, err := q.Store.Select(context.Background(), jobs.Query{}) // another process
		if err != nil {
			t.Fatal(err)
		}
		q.os = jobs.Outcomes(rs)
		q.run(t, 10*time.Minute)
		if len(q.accepted()) != 2 || q.os[0].Resource != "two" {
			t.Errorf("sent %v: %s at %s", q.accepted(), q.os[0].State, q.os[0].Resource)
		}
	}
}

// What the user cancels is not sent on.
func TestReplanAndCancel(t *testing.T) {
	q := newQueueing(t)
	q.cancelErr = errors.New("no answer")
	cancelled := q.status
	q.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Queued} }
	q.run(t, 4*time.Hour)
	q.cancelErr, q.status = nil, cancelled
	if err := q.Controller.Cancel(context.Background(), q.os); err != nil {
		t.Fatal(err)
	}
	q.run(t, time.Hour)
	if len(q.accepted()) != 1 || q.os[0].State != plugins.Cancelled {
		t.Errorf("a cancelled job was sent again: %v, %s", q.accepted(), q.os[0].State)
	}
}
