package jobs_test

import (
	"context"
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
}

func (s *slow) Complete(_ context.Context, reqs []plugins.Request, hs []plugins.Handle, _ plugins.Progress) []error {
	errs := make([]error, len(reqs))
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
	if r.State != plugins.Submitting || !jobs.IsUncertain(r.Err) {
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
	refresh(t, b, []*jobs.Outcome{gone})
	if gone.State == plugins.Submitting || gone.Handle.ID != "their-"+gone.ID {
		t.Errorf("files gone: %s %q %v", gone.State, gone.Handle.ID, gone.Err)
	}
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
