package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// What an answer means for the job, for who comes next, and for what is learned of the place; with the user's interruption
// and without. Only what surely did not leave, or was refused, goes to the next.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer   plugins.Kind
		err      error // beneath
		cancel   bool
		state    plugins.State
		requests int
		tried    int
		told     int // attempts that recorders are told of
	}{
		"refused":                           {plugins.Refused, nil, false, plugins.Failed, 2, 2, 2},
		"unavailable":                       {plugins.Unavailable, nil, false, plugins.Failed, 2, 2, 2},
		"invalid":                           {plugins.Invalid, nil, false, plugins.Failed, 1, 1, 1},
		"uncertain":                         {plugins.Uncertain, nil, false, plugins.Submitting, 1, 1, 1},
		"refused, and interrupted":          {plugins.Refused, nil, true, plugins.Intended, 1, 1, 1},
		"unavailable, and interrupted":      {plugins.Unavailable, nil, true, plugins.Intended, 1, 0, 0},
		"refused, since it was interrupted": {plugins.Refused, context.Canceled, true, plugins.Intended, 1, 0, 0},
		"uncertain, and interrupted":        {plugins.Uncertain, context.Canceled, true, plugins.Submitting, 1, 1, 1},
		"invalid, and interrupted":          {plugins.Invalid, nil, true, plugins.Failed, 1, 1, 1},
	} {
		b, f := rig(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		f.answer = func(endpoint, _ string) error {
			if c.cancel {
				cancel()
			}
			return &plugins.Error{Kind: c.answer, Op: "submit", Endpoint: endpoint, Said: "so", Err: c.err}
		}
		told := &recorder{}
		b.Recorders = []plugins.Recorder{told}
		os, err := b.Submit(ctx, plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true"; RetryCount = 3;`)))
		if err != nil {
			t.Fatal(err)
		}
		if o := os[0]; o.State != c.state || len(f.requests) != c.requests || len(o.Tried) != c.tried || told.sent != c.told || o.Err == nil {
			t.Errorf("%s: %s after %v, tried %v, told of %d, %v", name, o.State, f.requests, o.Tried, told.sent, o.Err)
		}
		if o := os[0]; c.answer == plugins.Invalid && (!o.NoRetry || o.MayRetry(start)) {
			t.Errorf("%s: it is sent again", name)
		}
	}
}

// A place that refuses one job is offered others, and the same one by another queue; one that cannot be reached is not
// asked again, for none of its queues.
func TestRefusalIsOfOneJob(t *testing.T) {
	for kind, want := range map[plugins.Kind]int{plugins.Refused: 4, plugins.Unavailable: 1} {
		b, f := rig(t)
		f.answer = func(string, string) error { return fault(kind, "so") }
		short := site("a")
		long := site("a-long", func(r *glue.Resource) { r.Endpoints, r.CE, r.Queue = short.Endpoints, short.CE, "long" })
		os, err := b.Intend(context.Background(), plan(t, b, []*glue.Resource{short, long}, stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Send(context.Background(), os); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, q := range f.requests {
			var n int
			if _, err := fmt.Sscanf(q[strings.Index(q, " "):], "%d", &n); err != nil {
				t.Fatal(err)
			}
			asked += n
		}
		if kind == plugins.Refused && asked != want || kind == plugins.Unavailable && len(f.requests) != want {
			t.Errorf("%s: %v", kind, f.requests)
		}
		for _, o := range os {
			if o.State != plugins.Failed || o.Err == nil || !strings.Contains(o.Reason, "so") {
				t.Errorf("%s: %s (%s), %v", kind, o.State, o.Reason, o.Err)
			}
		}
	}
}

// few is a back-end that answers for fewer jobs than it was given, or for more.
type few struct {
	*fake
	by int
}

func (f few) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	results := f.fake.Submit(ctx, reqs, p)
	if f.by < 0 {
		return results[:len(results)+f.by]
	}
	return append(results, results[:f.by]...)
}

// Where a back-end's answers are not one for each job it is not known which is whose: all are looked up.
func TestAnswersOfAnotherNumber(t *testing.T) {
	for _, by := range []int{-1, 1} {
		b, f := rig(t)
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: few{f, by}})
		if err != nil {
			t.Fatal(err)
		}
		b.Registry = reg
		os := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
		asked := 0
		for _, o := range os {
			if o.State != plugins.Submitting || !jobs.IsUncertain(o.Err) {
				t.Errorf("%+d answers: %s, %v", by, o.State, o.Err)
			}
			asked += o.Attempts
		}
		if asked != 2 {
			t.Errorf("%+d answers: %d attempts", by, asked)
		}
		refresh(t, b, os)
		if got := states(os); got != "running running" || len(f.accepted()) != 2 {
			t.Errorf("%+d answers: %s, %v", by, got, f.accepted())
		}
	}
}

// A choice of an interface that nobody speaks is passed over.
func TestInterfaceOfNobody(t *testing.T) {
	b, f := rig(t)
	os, err := b.Intend(context.Background(), plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true";`)))
	if err != nil {
		t.Fatal(err)
	}
	os[0].Choices[0].Endpoint.Interface = "telepathy"
	second := os[0].Choices[1].At
	if err := b.Send(context.Background(), os); err != nil {
		t.Fatal(err)
	}
	if o := os[0]; o.State != plugins.Accepted || o.At != second || len(f.accepted()) != 1 || !strings.Contains(o.Past[0].Reason, "no back-end for telepathy") {
		t.Errorf("%s at %s: %+v", o.State, o.At, o.Past)
	}
}

// accounts is a store that knows what is set aside, and what for.
type accounts struct {
	jobs.Store
	aside    int
	during   []int // what was set aside at each change of records
	reserved func()
}

func (s *accounts) Reserve(n int) (jobs.Reserve, error) {
	s.aside += n
	if s.reserved != nil {
		s.reserved()
	}
	return &account{s, n}, nil
}

type account struct {
	of *accounts
	n  int
}

func (a *account) Free() { a.of.aside, a.n = a.of.aside-a.n, 0 }

func (s *accounts) Update(ctx context.Context, rs []*jobs.Record, f func(*jobs.Record) (jobs.Change, error)) ([]error, error) {
	s.during = append(s.during, s.aside)
	return s.Store.Update(ctx, rs, f)
}

// What is set aside for the records of a submission is there while it is under way, and free when its outcome is written,
// or when nothing is sent.
func TestReserveIsForTheOutcome(t *testing.T) {
	b, f := rig(t)
	s := &accounts{Store: b.Store}
	b.Store = s
	asked := 0
	f.point = func() { asked = s.aside }
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	if got := states(os); got != "accepted accepted" || asked != 2 || !slices.Equal(s.during, []int{2, 0}) || s.aside != 0 {
		t.Errorf("%s: %d set aside during the request, %v at changes, %d at the end", got, asked, s.during, s.aside)
	}
	// Interrupted between the two: nothing is sent, and nothing has become of the job.
	ctx, cancel := context.WithCancel(context.Background())
	s.reserved, f.requests = cancel, nil
	os, err := b.Submit(ctx, plan(t, b, []*glue.Resource{site("a")}, stored(t, `Executable = "/bin/true";`)))
	if err != nil || os[0].State != plugins.Intended || !errors.Is(os[0].Err, context.Canceled) || len(f.requests) > 0 || s.aside != 0 {
		t.Errorf("%v: %s, %v, %v, %d set aside", err, os[0].State, os[0].Err, f.requests, s.aside)
	}
}

// What was sent to several places and cannot be recorded is named whole.
func TestUnrecordedAtSeveralPlaces(t *testing.T) {
	b, f := rig(t)
	os, err := b.Intend(context.Background(), plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	if err != nil {
		t.Fatal(err)
	}
	os[0].Choices, os[1].Choices = os[0].Choices[:1], os[0].Choices[1:]
	claims := 0
	b.Store, b.AtOnce = &full{Store: b.Store, after: func() bool { claims++; return claims%2 == 0 }}, 1
	err = b.Send(context.Background(), os)
	u, ok := errors.AsType[*jobs.UnrecordedError](err)
	if !ok || len(u.IDs) != 2 || len(f.accepted()) != 2 {
		t.Errorf("%v; %v", err, f.accepted())
	}
}

// failing is a store of which one call fails.
type failing struct {
	jobs.Store
	at, calls int
}

func (s *failing) next() error {
	if s.calls++; s.calls == s.at {
		return errors.New("disk I/O error")
	}
	return nil
}

func (s *failing) Update(ctx context.Context, rs []*jobs.Record, f func(*jobs.Record) (jobs.Change, error)) ([]error, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.Store.Update(ctx, rs, f)
}

func (s *failing) Select(ctx context.Context, q jobs.Query) ([]*jobs.Record, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.Store.Select(ctx, q)
}

func (s *failing) Lease(name string) (jobs.Lease, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.Store.Lease(name)
}

func (s *failing) Reserve(n int) (jobs.Reserve, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.Store.Reserve(n)
}

// Whichever call to the records fails, looking and sending say so.
func TestEachFailureOfTheRecordsIsTold(t *testing.T) {
	t.Run("looking", func(t *testing.T) {
		for at := 1; ; at++ {
			b, _, o := givenUp(t) // turns up late; beside it what a dead process was sending, and what runs
			rs := records("1m803vws5cbhxzs", "1m803vws5cbhxzt")
			for _, r := range rs {
				r.State, r.Owner, r.Attempts, r.Attempt = plugins.Submitting, "dead", 1, 1
				r.Handle = plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: site("a").Endpoints[0].URL}
			}
			rs[1].State, rs[1].Owner, rs[1].Handle.ID = plugins.Accepted, "", "r1"
			if err := b.Store.Add(context.Background(), rs); err != nil {
				t.Fatal(err)
			}
			s := &failing{Store: b.Store, at: at}
			b.Store, b.AtOnce = s, 1
			os := append(jobs.Outcomes(rs), o)
			err := b.Refresh(context.Background(), os)
			if s.calls < at {
				if at < 7 || err != nil || o.State != plugins.Running {
					t.Errorf("%d calls, %v; %s", s.calls, err, o.State)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "disk I/O error") {
				t.Errorf("call %d: %v", at, err)
			}
		}
	})
	t.Run("sending", func(t *testing.T) {
		for at := 1; ; at++ {
			b, f := rig(t)
			f.answer = func(endpoint, _ string) error {
				if strings.Contains(endpoint, "//a/") {
					return fault(plugins.Refused, "full")
				}
				return nil
			}
			os, err := b.Intend(context.Background(), plan(t, b, []*glue.Resource{site("a"), site("b")}, stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
			if err != nil {
				t.Fatal(err)
			}
			os[1].Choices = os[1].Choices[:1] // if that is a, it is given up
			s := &failing{Store: b.Store, at: at}
			b.Store, b.AtOnce = s, 1 // one call after the other
			err = b.Send(context.Background(), os)
			if s.calls < at {
				if at < 5 || err != nil {
					t.Errorf("%d calls, %v", s.calls, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "disk I/O error") {
				t.Errorf("call %d: %v", at, err)
			}
			if _, unrecorded := errors.AsType[*jobs.UnrecordedError](err); len(f.requests) > 0 && len(f.accepted()) > 0 && !unrecorded && os[0].State != plugins.Accepted && os[1].State != plugins.Accepted {
				t.Errorf("call %d: %v, and %v has been taken", at, err, f.accepted())
			}
		}
	})
}

// A description that one kind of computing element cannot be given goes to another kind, past all others of the first, with
// whatever alternatives a job has; where no other takes it, it has failed as the first said.
func TestUnfitForOneKind(t *testing.T) {
	for name, c := range map[string]struct {
		other plugins.Kind // that the other kind answers with; 0: it takes the job
		state plugins.State
		why   string
	}{
		"taken by the other":     {0, plugins.Accepted, ""},
		"unfit for both":         {plugins.Invalid, plugins.Failed, "no such name there"},
		"refused by the other":   {plugins.Refused, plugins.Failed, "no such name there"},
		"the other is not there": {plugins.Unavailable, plugins.Failed, "no such name there"},
	} {
		b, f := rig(t)
		other := &fake{dir: t.TempDir()}
		reg, err := plugins.NewRegistry(
			plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: f},
			plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"other"}}, Submitter: other})
		if err != nil {
			t.Fatal(err)
		}
		b.Registry, b.Alternatives = reg, 2
		b.Rules.Interfaces = []string{glue.InterfaceARCREST, "other"}
		b.Rules.Speaks = func(string) bool { return true }
		f.answer = func(string, string) error { return fault(plugins.Invalid, "no such name here") }
		other.answer = func(string, string) error {
			if c.other == 0 {
				return nil
			}
			return fault(c.other, "no such name there")
		}
		last := site("z", func(r *glue.Resource) { r.Endpoints[0].Interface = "other"; r.Waiting = glue.Some(int64(5000)) })
		os, err := b.Submit(context.Background(), plan(t, b, []*glue.Resource{site("a"), site("b"), site("c"), last}, stored(t, `Executable = "/bin/true"; RetryCount = 3;`)))
		if err != nil {
			t.Fatal(err)
		}
		o := os[0]
		if o.State != c.state || !strings.Contains(o.Reason, c.why) || len(f.requests) != 1 || len(other.requests) != 1 {
			t.Errorf("%s: %s (%s) after %v and %v", name, o.State, o.Reason, f.requests, other.requests)
		}
		if said := actions(t, b, o.ID); !strings.Contains(said, "invalid") {
			t.Errorf("%s: the log says %s", name, said)
		}
		if o.State == plugins.Accepted && (len(o.Past) != 1 || !strings.Contains(o.Past[0].Reason, "no such name here")) {
			t.Errorf("%s: past attempts are %+v", name, o.Past)
		}
	}
}
