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

// meanwhile is what another process does to a job: changes of its record, in one transaction.
type meanwhile func(r *jobs.Record) error

func (m meanwhile) happen(t *testing.T, s jobs.Store, id string) {
	t.Helper()
	rs, err := s.Find(context.Background(), []string{id})
	if err != nil {
		t.Error(err)
		return
	}
	errs, err := s.Update(context.Background(), rs, func(r *jobs.Record) (jobs.Change, error) { return jobs.Change{}, m(r) })
	if err = errors.Join(err, errs[0]); err != nil {
		t.Error(err)
	}
}

// all is events, one after the other.
func all(events ...jobs.Event) meanwhile {
	return func(r *jobs.Record) error {
		for _, e := range events {
			if _, err := r.Apply(e, start); err != nil {
				return err
			}
		}
		return nil
	}
}

func held(owner string) meanwhile { return func(r *jobs.Record) error { r.Owner = owner; return nil } }

// claimed is that a process begins to send the job to b.
func claimed(owner string) jobs.Event {
	return jobs.Claimed{Owner: owner, Choice: jobs.Choice{Resource: "b", At: "b", Endpoint: site("b").Endpoints[0]}}
}

// gone is that a request has not arrived, and cannot any more.
func gone() []jobs.Event {
	at := clock.Reading{Start: "another", Up: time.Hour}
	return []jobs.Event{jobs.Unanswered{Why: "timeout", At: clock.Reading{Start: "another"}}, jobs.NotFound{Asked: at, Settle: time.Minute}}
}

func lease(t *testing.T, s jobs.Store, name string) {
	t.Helper()
	l, err := s.Lease(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.End)
}

// illegal reports whether an error is that something cannot happen to a job, which says nothing to the user.
func illegal(err error) bool {
	_, ok := errors.AsType[*jobs.IllegalError](err)
	return ok
}

// Between the moment a job was read and the one in which it is to be sent another process may have it: then it is neither
// sent nor given up.
func TestOthersBeforeSending(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile
		sent bool
		says string
	}{
		"nothing":                 {all(), true, ""},
		"another sends it":        {all(claimed("living")), false, "another process is submitting it, or it is submitting"},
		"another has sent it":     {all(claimed("living"), jobs.Accepted{Handle: plugins.Handle{ID: "b1"}}), false, "or it is accepted"},
		"another runs its script": {held("living"), false, "another process is submitting it, or it is intended"},
		"another has died":        {held("dead"), true, ""},
		"it was cancelled":        {all(jobs.CancelAsked{}), false, "or it is cancelled"},
	} {
		b, f := rig(t)
		lease(t, b.Store, "living")
		p := plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`))
		os, err := b.Intend(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		nowhere := os[1]
		nowhere.Choices = nil
		was := map[string]plugins.State{}
		for _, o := range os {
			c.happen(t, b.Store, o.ID)
			rs, err := b.Store.Find(context.Background(), []string{o.ID})
			if err != nil {
				t.Fatal(err)
			}
			was[o.ID] = rs[0].State
		}
		if err := b.Send(context.Background(), os); err != nil {
			t.Fatal(err)
		}
		if o := os[0]; len(f.accepted()) == 1 != c.sent || !c.sent && (o.State != was[o.ID] || o.Err == nil || !strings.Contains(o.Err.Error(), c.says)) {
			t.Errorf("%s: sent to %v, %s, %v", name, f.accepted(), o.State, o.Err)
		}
		given := nowhere.State == plugins.Failed && strings.Contains(nowhere.Reason, "no resource left to offer it to")
		if given != c.sent || !c.sent && nowhere.State != was[nowhere.ID] || illegal(nowhere.Err) {
			t.Errorf("%s: with no place to go it is %s (%s), %v", name, nowhere.State, nowhere.Reason, nowhere.Err)
		}
	}
}

// A process that is taken for dead while its request is on the way leaves alone what another has made of the job since.
func TestTakenForDeadWhileSending(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile
		answer error
		state  plugins.State
		at     string
		handle string
	}{
		"found by another, and answered":     {all(jobs.Unanswered{}, jobs.Found{Attempt: 1, Handle: plugins.Handle{ID: "a1"}}), nil, plugins.Accepted, "a", "a1"},
		"found by another, and not answered": {all(jobs.Unanswered{}, jobs.Found{Attempt: 1, Handle: plugins.Handle{ID: "a1"}}), fault(plugins.Uncertain, "cut"), plugins.Accepted, "a", "a1"},
		"sent elsewhere, and answered":       {all(append(gone(), claimed("living"))...), nil, plugins.Submitting, "b", ""},
		"sent elsewhere, and refused":        {all(append(gone(), claimed("living"))...), fault(plugins.Refused, "full"), plugins.Submitting, "b", ""},
	} {
		b, f := rig(t)
		lease(t, b.Store, "living")
		os, err := b.Intend(context.Background(), plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`)))
		if err != nil {
			t.Fatal(err)
		}
		f.answer = func(string, string) error {
			c.happen(t, b.Store, os[0].ID)
			return c.answer
		}
		if err := b.Send(context.Background(), os); err != nil {
			t.Fatal(err)
		}
		if o := os[0]; o.State != c.state || o.At != c.at || o.Handle.ID != c.handle || illegal(o.Err) {
			t.Errorf("%s: %s at %s as %q, %v", name, o.State, o.At, o.Handle.ID, o.Err)
		}
	}
}

// Jobs of a process that has ended are anybody's: one that it was sending is uncertain from when that is found out, one
// that it had not sent can be sent. What another process does with them meanwhile stands, and a living one's are its own.
func TestReleased(t *testing.T) {
	noted := start.Add(-time.Minute)
	uncertain := func(r *jobs.Record) error { r.Owner, r.Uncertain = "", noted; return nil }
	for name, c := range map[string]struct {
		owner string
		state plugins.State
		meanwhile
		left  string // its owner afterwards
		since time.Time
	}{
		"not sent":                             {"dead", plugins.Intended, all(), "", time.Time{}},
		"being sent":                           {"dead", plugins.Submitting, all(), "", start},
		"not sent, of a living one":            {"living", plugins.Intended, all(), "living", time.Time{}},
		"being sent, of a living one":          {"living", plugins.Submitting, all(), "living", time.Time{}},
		"its script ran when all was over":     {"dead", plugins.Finishing, all(), "dead", time.Time{}},
		"not sent, and another has it":         {"dead", plugins.Intended, held("living"), "living", time.Time{}},
		"being sent, and another has it":       {"dead", plugins.Submitting, held("living"), "living", time.Time{}},
		"being sent, and another has noted it": {"dead", plugins.Submitting, uncertain, "", noted},
		"being sent, and ended": {"dead", plugins.Submitting,
			all(jobs.Unanswered{}, jobs.Found{Attempt: 1, Handle: plugins.Handle{ID: "a1"}}), "", time.Time{}},
		"not sent, and ended": {"dead", plugins.Intended, func(r *jobs.Record) error { r.State = plugins.Cancelled; return nil }, "dead", time.Time{}},
	} {
		b, f := rig(t)
		lease(t, b.Store, "living")
		f.findErr = errors.New("no route to host")
		rs := records("1m803vws5cbhxzs")
		rs[0].State, rs[0].Owner, rs[0].Attempts, rs[0].Attempt = c.state, c.owner, 1, 1
		rs[0].Handle = plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: site("a").Endpoints[0].URL}
		if err := b.Store.Add(context.Background(), rs); err != nil {
			t.Fatal(err)
		}
		c.happen(t, b.Store, rs[0].ID)
		os := jobs.Outcomes(rs)
		if err := b.Reconcile(context.Background(), os); err != nil {
			t.Fatal(err)
		}
		if err := b.Reconcile(context.Background(), os); err != nil { // nothing changes by asking again
			t.Fatal(err)
		}
		now, err := b.Store.Find(context.Background(), []string{rs[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		if r := now[0]; r.Owner != c.left || !r.Uncertain.Equal(c.since) || illegal(os[0].Err) {
			t.Errorf("%s: owned by %q, uncertain since %s, want %q and %s; %v", name, r.Owner, r.Uncertain, c.left, c.since, os[0].Err)
		}
	}
}

// lookUps is a back-end that tells how often it was asked.
func (f *fake) lookUps() *int {
	n := 0
	f.looked = func() { n++ }
	return &n
}

// While an endpoint is asked for a job another process may settle it: what that found stands.
func TestOthersWhileLookingUp(t *testing.T) {
	b, f := rig(t)
	f.answer = func(string, string) error { return fault(plugins.Uncertain, "timeout") }
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	f.looked = func() {
		f.looked = nil
		all(jobs.Found{Attempt: 1, Handle: plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: site("a").Endpoints[0].URL, ID: "a1"}}).happen(t, b.Store, os[0].ID)
	}
	os[0].Err = nil
	if err := b.Reconcile(context.Background(), os); err != nil {
		t.Fatal(err)
	}
	if o := os[0]; o.State != plugins.Accepted || o.Handle.ID != "a1" || o.Err != nil {
		t.Errorf("%s as %q, %v", o.State, o.Handle.ID, o.Err)
	}
}

// A living process's jobs are not even asked about.
func TestLivingSubmitterIsNotLookedUp(t *testing.T) {
	b, f := rig(t)
	lease(t, b.Store, "living")
	asked := f.lookUps()
	for _, owner := range []string{"living", "dead"} {
		rs := records("1m803vws5cbhxz" + owner[:1])
		rs[0].State, rs[0].Owner, rs[0].Attempts, rs[0].Attempt = plugins.Submitting, owner, 1, 1
		rs[0].Handle = plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: site("a").Endpoints[0].URL}
		if err := b.Store.Add(context.Background(), rs); err != nil {
			t.Fatal(err)
		}
		if err := b.Reconcile(context.Background(), jobs.Outcomes(rs)); err != nil {
			t.Fatal(err)
		}
		if owner == "living" && *asked != 0 || owner == "dead" && *asked != 1 {
			t.Errorf("of a %s process: asked %d times", owner, *asked)
		}
	}
}
