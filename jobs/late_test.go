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

// givenUp is a job with input whose first attempt, at a, was given up as not arrived and is there now; the back-end brings
// input files to what it has taken.
func givenUp(t *testing.T) (c *jobs.Controller, s *slow, o *jobs.Outcome) {
	t.Helper()
	c, f := rig(t)
	s = &slow{fake: f}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: s})
	if err != nil {
		t.Fatal(err)
	}
	now := start
	c.Registry, c.Clock = reg, clock.Set(func() time.Time { return now })
	f.answer = func(string, string) error { return fault(plugins.Uncertain, "timeout") }
	job := stored(t, `Executable = "late_test.go"; InputSandbox = "late_test.go";`)
	os := submit(t, c, []*glue.Resource{site("a")}, set(job))
	for range 3 {
		now = now.Add(jobs.SettleTime)
		refresh(t, c, os)
	}
	if os[0].State != plugins.Intended || len(os[0].Past) != 1 {
		t.Fatalf("%+v", os[0].Record)
	}
	now = now.Add(time.Hour)
	f.answer = nil
	if err := f.accept(plugins.Request{ID: os[0].ID, Endpoint: site("a").Endpoints[0]}); err != nil {
		t.Fatal(err)
	}
	return c, s, os[0]
}

// sentTo is that the job has been sent to b: uncertain whether it arrived, unless more follows.
func sentTo(more ...jobs.Event) meanwhile {
	return all(append([]jobs.Event{claimed("dead"), jobs.Unanswered{Why: "timeout", At: clock.Reading{Start: "another"}}}, more...)...)
}

// What arrives late is the job's where the job is nowhere, with its input files; elsewhere it is cancelled, and gets none,
// which could start it. What it is to be is looked at once more when the endpoint has answered.
func TestWhatArrivesLate(t *testing.T) {
	accepted := sentTo(jobs.Found{Attempt: 2, Handle: plugins.Handle{Interface: "none", ID: "b2"}})
	for name, c := range map[string]struct {
		before, during meanwhile // the endpoint is asked
		backend        func(*slow)
		state          plugins.State
		adopted, ended bool
		completed      int
	}{
		"the job is nowhere":                    {state: plugins.Accepted, adopted: true, completed: 1},
		"it may be elsewhere":                   {before: sentTo(), state: plugins.Accepted, adopted: true, completed: 1},
		"it may be elsewhere, and is cancelled": {before: sentTo(jobs.CancelAsked{}), state: plugins.Submitting, ended: true},
		"it is elsewhere":                       {before: accepted, state: plugins.Accepted, ended: true},
		"it is being sent":                      {before: all(claimed("living")), state: plugins.Submitting, ended: true},
		"a living process is about to":          {before: held("living"), state: plugins.Intended, ended: true},
		"it was cancelled":                      {before: all(jobs.CancelAsked{}), state: plugins.Cancelled, ended: true},
		"it is being sent by now":               {during: all(claimed("living")), state: plugins.Submitting, ended: true, completed: 1},
		"it is elsewhere by now":                {during: accepted, state: plugins.Accepted, ended: true, completed: 1},
		"it was cancelled meanwhile":            {during: all(jobs.CancelAsked{}), state: plugins.Cancelled, ended: true, completed: 1},
		"its files cannot be brought now": {backend: func(s *slow) { s.err = fault(plugins.Unavailable, "no route") },
			state: plugins.Intended, completed: 1},
		"its files are gone": {backend: func(s *slow) { s.err = fault(plugins.Invalid, "no such file") },
			state: plugins.Accepted, adopted: true, completed: 1},
		"it cannot be cancelled": {before: accepted, backend: func(s *slow) { s.cancelErr = fault(plugins.Unavailable, "no route") },
			state: plugins.Accepted},
		"nobody says whether it was cancelled": {before: accepted, backend: func(s *slow) { s.mute = true }, state: plugins.Accepted},
	} {
		t.Run(name, func(t *testing.T) {
			b, s, o := givenUp(t)
			lease(t, b.Store, "living")
			if c.before != nil {
				c.before.happen(t, b.Store, o.ID)
			}
			if c.backend != nil {
				c.backend(s)
			}
			s.looked = func() {
				if s.looked = nil; c.during != nil {
					c.during.happen(t, b.Store, o.ID)
				}
			}
			if err := b.Reconcile(context.Background(), []*jobs.Outcome{}); err != nil { // whoever looks, at whichever jobs
				t.Fatal(err)
			}
			rs, err := b.Store.Find(context.Background(), []string{o.ID})
			if err != nil {
				t.Fatal(err)
			}
			r, past := rs[0], rs[0].Past
			first := len(past) > 0 && past[0].Number == 1
			if r.State != c.state || c.adopted != (r.Handle.ID == "their-"+o.ID && r.At == "a" && !first) {
				t.Errorf("%s at %s as %q, past %+v", r.State, r.At, r.Handle.ID, past)
			}
			if ended := first && past[0].State == plugins.Cancelled && past[0].Until.IsZero(); ended != c.ended || c.ended != (len(s.cancels) == 1 && s.cancelErr == nil && !s.mute) {
				t.Errorf("ended %v, cancels %v, past %+v", ended, s.cancels, past)
			}
			if c.adopted && len(s.cancels) > 0 {
				t.Errorf("adopted, and cancelled: %v", s.cancels)
			}
			if len(s.completed) != c.completed {
				t.Errorf("files were brought %d times, want %d", len(s.completed), c.completed)
			}
		})
	}
}

// Where the records cannot be written, what arrives late is left alone: it may be the job's only attempt.
func TestLateOnAFullDisk(t *testing.T) {
	b, s, o := givenUp(t)
	sentTo().happen(t, b.Store, o.ID)
	b.Store = &full{Store: b.Store, after: func() bool { return true }}
	if err := b.Reconcile(context.Background(), nil); err == nil || len(s.cancels) > 0 {
		t.Errorf("%v, cancelled %v", err, s.cancels)
	}
}

// Attempts whose end is known are not looked for among those that may turn up: one that failed would be taken for the job,
// or cancelled. A damaged record keeps none of the others from being looked up.
func TestOnlyStraysAreLookedUp(t *testing.T) {
	b, s, o := givenUp(t)
	meanwhile(func(r *jobs.Record) error {
		ended := jobs.Past{Number: 2, Resource: "c", Handle: plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: site("c").Endpoints[0].URL, ID: "their-" + o.ID + "-2"}, State: plugins.Failed}
		r.Past, r.Attempts, r.Attempt = append([]jobs.Past{ended}, r.Past...), 2, 2
		return nil
	}).happen(t, b.Store, o.ID)
	if err := s.accept(plugins.Request{ID: o.ID + "-2", Endpoint: site("c").Endpoints[0]}); err != nil {
		t.Fatal(err)
	}
	b.Store = damaged{b.Store}
	if err := b.Reconcile(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	rs, err := b.Store.Find(context.Background(), []string{o.ID})
	if err != nil {
		t.Fatal(err)
	}
	if r := rs[0]; r.State != plugins.Accepted || r.Handle.ID != "their-"+o.ID || len(r.Past) != 1 || r.Past[0].State != plugins.Failed || len(s.cancels) > 0 {
		t.Errorf("%s as %q, past %+v, cancelled %v", r.State, r.Handle.ID, r.Past, s.cancels)
	}
}

// damaged is a store with a record that cannot be read.
type damaged struct{ jobs.Store }

func (s damaged) Select(ctx context.Context, q jobs.Query) ([]*jobs.Record, error) {
	rs, err := s.Store.Select(ctx, q)
	return rs, errors.Join(err, &jobs.DamagedError{IDs: []string{"x"}, Err: errors.New("checksum")})
}

// What can be found out about a job whose outcome is uncertain is as its back-end is: how long a request may still arrive,
// whether it can look jobs up, whether there is any.
func TestBackendsThatLookUp(t *testing.T) {
	for name, c := range map[string]struct {
		backend func(*fake) plugins.Submitter
		after   time.Duration
		state   plugins.State
		says    string
	}{
		"by the time that is usual":     {func(f *fake) plugins.Submitter { return f }, jobs.SettleTime - time.Second, plugins.Submitting, "ask again in 6m"},
		"when it is over":               {func(f *fake) plugins.Submitter { return f }, jobs.SettleTime, plugins.Intended, ""},
		"by the back-end's own":         {func(f *fake) plugins.Submitter { return settler{f} }, time.Second, plugins.Intended, ""},
		"before the back-end's own":     {func(f *fake) plugins.Submitter { return settler{f} }, time.Second - 1, plugins.Submitting, "ask again in 1s"},
		"by one that cannot look":       {func(f *fake) plugins.Submitter { return blind{f} }, 24 * time.Hour, plugins.Submitting, "cannot look up"},
		"by one that cannot be reached": {func(f *fake) plugins.Submitter { f.findErr = errors.New("no route"); return f }, 24 * time.Hour, plugins.Submitting, "no route"},
		"by none":                       {nil, 24 * time.Hour, plugins.Submitting, "no back-end for"},
	} {
		b, _, os, now := unanswered(t)
		opened := plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"other"}}, Submitter: blind{}}
		if c.backend != nil {
			opened = plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: c.backend(&fake{dir: t.TempDir()})}
		}
		var err error
		if b.Registry, err = plugins.NewRegistry(opened); err != nil {
			t.Fatal(err)
		}
		*now, os[0].Err = now.Add(c.after), nil
		if err := b.Reconcile(context.Background(), os); err != nil {
			t.Fatal(err)
		}
		said := ""
		if os[0].Err != nil {
			said = os[0].Err.Error()
			if e, ok := errors.AsType[*plugins.Error](os[0].Err); ok {
				said += e.Hint
			}
		}
		if os[0].State != c.state || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s, %q, want %s, %q", name, os[0].State, said, c.state, c.says)
		}
	}
}

// settler is a back-end to which nothing arrives later than after a second.
type settler struct{ *fake }

func (settler) SettleTime() time.Duration { return time.Second }

// blind is a back-end that can look nothing up.
type blind struct{ plugins.Submitter }
