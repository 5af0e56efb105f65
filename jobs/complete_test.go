package jobs_test

import (
	"context"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// slow is a back-end that takes jobs before their input files.
type slow struct {
	*fake
	completed []string
	err       error
	mute      bool // says nothing to a Cancel
}

func (s *slow) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	if errs := s.fake.Cancel(ctx, hs); !s.mute {
		return errs
	}
	return nil
}

func (s *slow) Complete(_ context.Context, reqs []plugins.Request, hs []plugins.Handle, _ plugins.Progress) []error {
	errs := make([]error, len(reqs))
	if len(reqs) == 0 {
		s.completed = append(s.completed, "nothing")
	}
	for i := range reqs {
		s.completed = append(s.completed, reqs[i].ID+" "+hs[i].ID+" "+reqs[i].Job.InputSandbox[0].Name)
		errs[i] = s.err
	}
	return errs
}

// A job that was found after a crash gets its input files before it counts as
// accepted. While they cannot be brought the outcome stays uncertain; when
// they are gone for good the record says so.
func TestFoundJobIsCompleted(t *testing.T) {
	b, f := rig(t)
	s := &slow{fake: f}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: s})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	f.after = func(string, string) error { return fault(plugins.Uncertain, "connection reset") }
	job := stored(t, `Executable = "complete_test.go"; InputSandbox = "complete_test.go";`)
	r := submit(t, b, []*glue.Resource{site("a")}, set(job))[0]

	s.err = fault(plugins.Unavailable, "no route to host")
	refresh(t, b, []*jobs.Outcome{r})
	if r.State != plugins.Submitting || !jobs.IsUncertain(r.Err) || !strings.Contains(r.Err.Error(), "no route to host") {
		t.Fatalf("files not brought: %s %v", r.State, r.Err)
	}
	s.err = nil
	refresh(t, b, []*jobs.Outcome{r})
	if r.State != plugins.Running || r.Err != nil || r.Reason != "" {
		t.Fatalf("files brought: %+v, %v", r, r.Err)
	}
	want := r.ID + " their-" + r.ID + " complete_test.go"
	if len(s.completed) != 2 || s.completed[0] != want || s.completed[1] != want {
		t.Errorf("completed %q, want twice %q", s.completed, want)
	}

	gone := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "complete_test.go"; InputSandbox = "complete_test.go";`)))[0]
	s.err = fault(plugins.Invalid, "no such file")
	if err := b.Reconcile(context.Background(), []*jobs.Outcome{gone}); err != nil {
		t.Fatal(err)
	}
	if gone.State != plugins.Accepted || gone.Handle.ID != "their-"+gone.ID || !strings.Contains(gone.Reason, "no such file") || gone.Err == nil {
		t.Errorf("files gone: %s %q %s, %v", gone.State, gone.Handle.ID, gone.Reason, gone.Err)
	}
}

// Of jobs that are looked up together those that are there and have input files get them, and none on the word of a
// computing element. One whose description cannot be read is followed where it is, so that it can be cancelled.
func TestWhichFoundJobsAreCompleted(t *testing.T) {
	b, f := rig(t)
	s := &slow{fake: f}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: s})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	text := `Executable = "complete_test.go"; InputSandbox = "complete_test.go";`
	var os []*jobs.Outcome
	send := func(text string, arrives bool) *jobs.Outcome {
		f.answer, f.after = nil, func(string, string) error { return fault(plugins.Uncertain, "connection reset") }
		if !arrives {
			f.answer, f.after = f.after, nil
		}
		os = append(os, submit(t, b, []*glue.Resource{site("a")}, set(stored(t, text)))...)
		return os[len(os)-1]
	}
	whole, missing, plain, adopted, unread := send(text, true), send(text, false), send(`Executable = "/bin/true";`, true), send(text, true), send(text, true)
	meanwhile(func(r *jobs.Record) error { r.Adopted = true; return nil }).happen(t, b.Store, adopted.ID)
	meanwhile(func(r *jobs.Record) error { r.JDL = "["; return nil }).happen(t, b.Store, unread.ID)
	rs, err := b.Store.Select(context.Background(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]*jobs.Outcome{}
	os = jobs.Outcomes(rs)
	for _, o := range os {
		now[o.ID] = o
	}
	if err := b.Reconcile(context.Background(), os); err != nil {
		t.Fatal(err)
	}
	if len(s.completed) != 1 || !strings.HasPrefix(s.completed[0], whole.ID) {
		t.Errorf("completed %q, want %s alone", s.completed, whole.ID)
	}
	for _, c := range []struct {
		*jobs.Outcome
		state plugins.State
		says  string
	}{
		{whole, plugins.Accepted, ""}, {missing, plugins.Submitting, "may still arrive"}, {plain, plugins.Accepted, ""},
		{adopted, plugins.Accepted, "no file is sent on its word"}, {unread, plugins.Accepted, "its recorded description"},
	} {
		o := now[c.ID]
		if o.State != c.state || (o.Err == nil) != (c.says == "") || o.Err != nil && !strings.Contains(o.Err.Error(), c.says) {
			t.Errorf("%s, %v, want %s, %q", o.State, o.Err, c.state, c.says)
		}
	}
	f.looked, s.completed = nil, nil
	if err := b.Reconcile(context.Background(), []*jobs.Outcome{now[missing.ID]}); err != nil || len(s.completed) > 0 {
		t.Errorf("%v, completed %v", err, s.completed)
	}
}

// A job that reads .BrokerInfo is sent with it; what is brought after a crash is
// what was to be sent, although the resource is no longer at hand.
func TestBrokerInfoIsSent(t *testing.T) {
	b, f := rig(t)
	s := &informed{slow: &slow{fake: f}}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: s})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	f.after = func(string, string) error { return fault(plugins.Uncertain, "connection reset") }
	near := site("a", func(r *glue.Resource) { r.CloseSEs = []glue.StorageBinding{{SE: "se.example"}} })
	r := submit(t, b, []*glue.Resource{near}, set(stored(t, `Executable = "/bin/cat"; Arguments = ".BrokerInfo";`)))[0]
	refresh(t, b, []*jobs.Outcome{r})
	if len(s.texts) != 2 || s.texts[0] != s.texts[1] || !strings.Contains(s.texts[0], `name = "se.example"`) {
		t.Errorf("sent and brought: %q", s.texts)
	}
	f.after = nil
	plain := submit(t, b, []*glue.Resource{near}, set(stored(t, `Executable = "/bin/cat";`)))[0]
	if len(s.texts) != 2 || plain.BrokerInfo != "" {
		t.Errorf("a job that does not read it has got it: %q", s.texts)
	}
}

// informed notes what the files hold that the broker makes.
type informed struct {
	*slow
	texts []string
}

func (s *informed) note(reqs []plugins.Request) {
	for _, q := range reqs {
		for _, f := range q.Job.InputSandbox {
			s.texts = append(s.texts, f.Text)
		}
	}
}

func (s *informed) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	s.note(reqs)
	return s.slow.Submit(ctx, reqs, p)
}

func (s *informed) Complete(ctx context.Context, reqs []plugins.Request, hs []plugins.Handle, p plugins.Progress) []error {
	s.note(reqs)
	return s.slow.Complete(ctx, reqs, hs, p)
}

// Jobs that are sent later go where their user told them to look, each to its own.
func TestOriginIsKept(t *testing.T) {
	b, f := rig(t)
	var rs []*jobs.Outcome
	for _, name := range []string{"a", "b"} {
		b.Origin = jobs.Origin{Sources: []string{"file:" + name}}
		f.answer = func(string, string) error { return fault(plugins.Refused, "full") }
		rs = append(rs, submit(t, b, []*glue.Resource{site("full")}, set(stored(t, `Executable = "/bin/true";`)))...)
	}
	f.answer = nil
	discover := func(_ context.Context, from jobs.Origin) ([]*glue.Resource, error) {
		return []*glue.Resource{site(from.Sources[0][len("file:"):])}, nil
	}
	if err := b.Resubmit(context.Background(), rs, jobs.Anew{Discover: discover}); err != nil {
		t.Fatal(err)
	}
	if rs[0].At != "a" || rs[1].At != "b" || rs[0].State != plugins.Accepted {
		t.Errorf("went to %q and %q, %s", rs[0].At, rs[1].At, rs[0].State)
	}
}
