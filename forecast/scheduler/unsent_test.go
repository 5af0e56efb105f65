package scheduler

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// A job that is to be sent is not where its owner has cancelled it meanwhile, where it has gone on, or its slot went by; one that
// stays in the site's queue, or waits for its turn there, is sent late, too.
func TestWhatIsNotSentAnyMore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, j *Job)
		sent   int
	}{
		"as it was booked": {func(*world, *Job) {}, 1},
		"cancelled":        {func(_ *world, j *Job) { j.Cancel = true }, 0},
		"ended":            {func(_ *world, j *Job) { j.State = Cancelled }, 0},
		"sent already":     {func(_ *world, j *Job) { j.State = Sent }, 0},
		"late":             {func(w *world, _ *Job) { w.now = w.now.Add(time.Hour) }, 0},
		"late, but stays":  {func(w *world, j *Job) { w.now, j.Fallback = w.now.Add(time.Hour), Stay }, 1},
		"late for a turn":  {func(w *world, j *Job) { w.now, j.Booking.Turn = w.now.Add(time.Hour), true }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := due(t)
			j := w.job(a.Job)
			c.change(w, j)
			r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
			again := outbox{w.s}.launch(t.Context(), a, j, w.sites["c0"], &r)
			if n := len(w.sites["c0"].guests); n != c.sent || again != 0 || (r.Kind == 0) != (c.sent > 0) {
				t.Errorf("%d were sent: %v %s, again in %v", n, r.Kind, r.Said, again)
			}
		})
	}
}

// What was to be done for a booking that is over is not done for the one that the job has now.
func TestActionsOfAnOlderBooking(t *testing.T) {
	for _, v := range []verb{launch, withdraw, end, clean} {
		w, a := due(t)
		a.Verb, a.Key = v, string(v)+"/"+a.Job+"-0"
		r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
		if again := (outbox{w.s}).attempt(t.Context(), a, &r); again != 0 || r.Kind != plugins.Refused || len(w.sites["c0"].guests) != 0 {
			t.Errorf("%s: %v %s, again in %v, %d guests", v, r.Kind, r.Said, again, len(w.sites["c0"].guests))
		}
	}
}

// blind is a site that takes jobs and cannot tell which it has.
type blind struct{ *simSite }

func (blind) Find(context.Context, glue.Endpoint, []string) (map[string]plugins.Handle, error) {
	return nil, &plugins.Error{Kind: plugins.Unavailable, Said: "busy"}
}

// A job that may be at its site already is not sent again before the site has said that it is not.
func TestInDoubtIsNotSentAgain(t *testing.T) {
	w, a := due(t)
	site := w.sites["c0"]
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: blind{site}})
		return reg, func() {}, err
	}
	s := New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	for attempts, want := range map[int]int{1: 1, 2: 0} {
		before := len(site.guests)
		a.Attempts = attempts
		r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
		again := outbox{s}.attempt(t.Context(), a, &r)
		if n := len(site.guests) - before; n != want || (again > 0) != (want == 0) || r.Kind != 0 {
			t.Errorf("attempt %d: %d sent, again in %v: %v %s", attempts, n, again, r.Kind, r.Said)
		}
	}
}

// lingering is a site that says it ends jobs, at which they are in the state that it has.
type lingering struct {
	plugins.Submitter
	state plugins.State
}

func (s lingering) Status(context.Context, []plugins.Handle) []plugins.Status {
	return []plugins.Status{{State: s.state}}
}

func (lingering) Cancel(context.Context, []plugins.Handle) []error { return []error{nil} }

// A job that is taken back is so only when its site says that it has ended: one that waits there still may begin.
func TestWithdrawnWhenItHasEnded(t *testing.T) {
	w, a := due(t)
	for state, ended := range map[plugins.State]bool{plugins.Queued: false, plugins.Accepted: false, plugins.Unknown: false, plugins.Cancelled: true, plugins.Done: true, plugins.Running: true} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		r := result{Action: a.ID, Job: a.Job, Verb: withdraw}
		again := outbox{w.s}.withdraw(ctx, w.job(a.Job), lingering{state: state}, &r)
		cancel()
		if (again == 0) != ended || (r.Status != nil) != ended {
			t.Errorf("%s: again in %v, told %+v", state, again, r.Status)
		}
	}
}
