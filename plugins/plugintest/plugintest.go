// Package plugintest checks that a back-end keeps the contract of
// plugins.Submitter and of those optional interfaces that it has. A back-end's
// test calls TestSubmitter with something real behind it.
package plugintest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Target is a back-end under test, and where it can run jobs.
type Target struct {
	Submitter plugins.Submitter
	Endpoint  glue.Endpoint
	Resource  *glue.Resource // may be nil, when the back-end does not need one
	// Stray names a job as the back-end would, but one that it never had.
	Stray plugins.Handle
	// Dead is an endpoint of which nothing answers; the zero value where
	// there is no such thing.
	Dead glue.Endpoint
	// Hidden: files of running jobs cannot be seen there; Peek must say so.
	Hidden bool
	// Waits makes requests such that of two that are sent the second waits in the queue for
	// longer than a test takes; nil where that is not to be had.
	Waits func(*plugins.Request)
	// Patience is how long a job of a second may take; 0 means 2 minutes.
	Patience time.Duration
}

// suite is one run. Our ids differ from run to run.
type suite struct {
	Target
	n     int
	twins map[*jdl.Job]*jdl.Job // jobs of requests, read a second time
}

// TestSubmitter runs the whole suite.
func TestSubmitter(t *testing.T, target Target) {
	if target.Patience == 0 {
		target.Patience = 2 * time.Minute
	}
	s := &suite{Target: target, twins: map[*jdl.Job]*jdl.Job{}}
	t.Run("nothing", s.nothing)
	t.Run("exit codes", s.exitCodes)
	t.Run("no streams", s.noStreams)
	t.Run("cancel", s.cancel)
	t.Run("withdraw", s.withdraw)
	t.Run("hold", s.hold)
	t.Run("unknown job", s.unknown)
	t.Run("dead context", s.deadContext)
	t.Run("dead endpoint", s.deadEndpoint)
	t.Run("find", s.find)
	t.Run("fetch", s.fetch)
	t.Run("peek and log", s.peekAndLog)
	t.Run("clean", s.clean)
}

// request is a job that runs a line of sh; more are further attributes.
func (s *suite) request(t *testing.T, line string, more ...string) plugins.Request {
	t.Helper()
	s.n++
	text := fmt.Sprintf(`JobName = "conformance"; Executable = "/bin/sh"; Arguments = %s; StdOutput = "out.txt"; StdError = "err.txt"; WallTime = 600;`,
		jdl.Quote(jdl.JoinArgs([]string{"-c", line})))
	if len(more) == 0 {
		more = []string{`OutputSandbox = {"out.txt", "err.txt"};`}
	}
	job := jobOf(t, s.twins, text+strings.Join(more, " "))
	return plugins.Request{ID: fmt.Sprintf("pt%x-%d", time.Now().UnixNano(), s.n), Resource: s.Resource, Endpoint: s.Endpoint, Job: job}
}

// jobOf reads a description, twice.
func jobOf(t *testing.T, twins map[*jdl.Job]*jdl.Job, text string) *jdl.Job {
	t.Helper()
	var two [2]*jdl.Job
	for i := range two {
		var err error
		if two[i], err = jdl.ParseJob("conformance.jdl", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	twins[two[0]] = two[1]
	return two[0]
}

// start submits jobs that must be accepted, and that Submit leaves as they are: other requests may have the same ones.
func (s *suite) start(t *testing.T, reqs ...plugins.Request) []plugins.Handle {
	t.Helper()
	res := s.Submitter.Submit(t.Context(), reqs, nil)
	if len(res) != len(reqs) {
		t.Fatalf("%d results for %d requests", len(res), len(reqs))
	}
	hs := make([]plugins.Handle, len(res))
	for i, r := range res {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if twin := s.twins[reqs[i].Job]; twin != nil && !reflect.DeepEqual(reqs[i].Job, twin) {
			t.Errorf("Submit changed the job %+v, it was %+v", reqs[i].Job, twin)
		}
		if r.ID != reqs[i].ID || r.Handle.ID == "" || r.Handle.Interface == "" {
			t.Fatalf("result %d is %+v, the request was %s", i, r, reqs[i].ID)
		}
		hs[i] = r.Handle
	}
	t.Cleanup(func() { s.remove(hs) })
	return hs
}

func (s *suite) remove(hs []plugins.Handle) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	s.Submitter.Cancel(ctx, hs)
	if c, ok := s.Submitter.(plugins.Cleaner); ok {
		c.Clean(ctx, hs)
	}
}

// end waits until all jobs have ended.
func (s *suite) end(t *testing.T, hs []plugins.Handle) []plugins.Status {
	t.Helper()
	return s.wait(t, hs, plugins.State.Final)
}

func (s *suite) wait(t *testing.T, hs []plugins.Handle, enough func(plugins.State) bool) []plugins.Status {
	t.Helper()
	for end := time.Now().Add(s.Patience); ; time.Sleep(200 * time.Millisecond) {
		sts := s.Submitter.Status(t.Context(), hs)
		if len(sts) != len(hs) {
			t.Fatalf("%d statuses for %d handles", len(sts), len(hs))
		}
		left := 0
		for i, st := range sts {
			if st.Err != nil || st.Handle != hs[i] {
				t.Fatalf("status %d: %+v, asked for %+v", i, st, hs[i])
			}
			if !enough(st.State) {
				left++
			}
		}
		if left == 0 {
			return sts
		}
		if time.Now().After(end) {
			t.Fatalf("not there after %v: %+v", s.Patience, sts)
		}
	}
}

// kindOf requires an error to be an *Error that says what and where.
func kindOf(t *testing.T, err error) plugins.Kind {
	t.Helper()
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok {
		t.Fatalf("%v is a %T, want a *plugins.Error", err, err)
	}
	if e.Kind == 0 || e.Op == "" || e.Endpoint == "" {
		t.Errorf("kind, operation or endpoint is missing: %+v", e)
	}
	return e.Kind
}

func (s *suite) nothing(t *testing.T) {
	if r := s.Submitter.Submit(t.Context(), nil, nil); len(r) != 0 {
		t.Errorf("Submit(nil): %v", r)
	}
	if r := s.Submitter.Status(t.Context(), nil); len(r) != 0 {
		t.Errorf("Status(nil): %v", r)
	}
	if r := s.Submitter.Cancel(t.Context(), nil); len(r) != 0 {
		t.Errorf("Cancel(nil): %v", r)
	}
}

func (s *suite) exitCodes(t *testing.T) {
	hs := s.start(t, s.request(t, "exit 0"), s.request(t, "exit 3"),
		s.request(t, "exit 0", `Epilogue = "/bin/sh"; EpilogueArguments = "-c 'exit 4'";`), s.request(t, "exit 0", `Prologue = "/bin/false";`))
	ended := s.end(t, hs)
	if st := ended[3]; st.State != plugins.Failed && (st.State != plugins.Done || st.ExitCode.Or(0) == 0) {
		t.Errorf("a job whose prologue failed: %s, exit code %v, reason %q", st.State, st.ExitCode, st.Reason)
	}
	for i, st := range ended[:3] {
		if want := glue.Some([]int{0, 3, 4}[i]); st.State != plugins.Done || st.ExitCode != want {
			t.Errorf("job %d: %s, exit code %v, reason %q; want done, %v", i, st.State, st.ExitCode, st.Reason, want)
		}
		if st.Native == "" {
			t.Errorf("job %d: no native state", i)
		}
	}
}

// noStreams: what a job writes that has named no file for it goes nowhere; it can be written.
func (s *suite) noStreams(t *testing.T) {
	req := s.request(t, "")
	req.Job = jobOf(t, s.twins, `Executable = "/bin/sh"; Arguments = "-c 'echo hello && echo oops >&2 && cat'"; WallTime = 600;`)
	if st := s.end(t, s.start(t, req))[0]; st.State != plugins.Done || st.ExitCode != glue.Some(0) {
		t.Errorf("%s, exit code %v, reason %q; want done, 0", st.State, st.ExitCode, st.Reason)
	}
}

func (s *suite) cancel(t *testing.T) {
	hs := s.start(t, s.request(t, "sleep 600"), s.request(t, "sleep 600"))
	for range 2 {
		for _, err := range s.Submitter.Cancel(t.Context(), hs) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for _, st := range s.end(t, hs) {
		if st.State != plugins.Cancelled {
			t.Errorf("after cancelling: %s %s %s", st.State, st.Native, st.Reason)
		}
	}
	for _, err := range s.Submitter.Cancel(t.Context(), append(hs, s.Stray)) {
		if err != nil {
			t.Errorf("cancel of ended and unknown jobs: %v", err)
		}
	}
}

// withdraw: that jobs have begun, have ended or are not known is no error, and they stay as they are.
func (s *suite) withdraw(t *testing.T) {
	w, ok := s.Submitter.(plugins.Withdrawer)
	if !ok {
		t.Skip("this back-end has no Withdrawer")
	}
	if r := w.Withdraw(t.Context(), nil); len(r) != 0 {
		t.Errorf("Withdraw(nil): %v", r)
	}
	ended := s.start(t, s.request(t, "exit 0"))
	s.end(t, ended)
	for _, err := range w.Withdraw(t.Context(), append(ended, s.Stray)) {
		if err != nil {
			t.Errorf("of ended and unknown jobs: %v", err)
		}
	}
	if st := s.Submitter.Status(t.Context(), ended)[0]; st.State != plugins.Done {
		t.Errorf("an ended job that is withdrawn: %+v", st)
	}
}

// hold: a job that waits is held and released, as often as it is asked for; what has ended or is not known stays as it is.
func (s *suite) hold(t *testing.T) {
	h, ok := s.Submitter.(plugins.Holder)
	if !ok {
		t.Skip("this back-end has no Holder")
	}
	if a, b := h.Hold(t.Context(), nil), h.Release(t.Context(), nil); len(a)+len(b) != 0 {
		t.Errorf("of none: %v %v", a, b)
	}
	hs := s.start(t, s.request(t, "exit 0"))
	s.end(t, hs)
	if s.Waits != nil {
		two := []plugins.Request{s.request(t, "sleep 600"), s.request(t, "exit 0")}
		for i := range two {
			s.Waits(&two[i])
			delete(s.twins, two[i].Job)
		}
		hs = append(hs, s.start(t, two...)[1])
		s.reach(t, hs[1], plugins.Queued)
	}
	for _, do := range []struct {
		call func(context.Context, []plugins.Handle) []error
		want plugins.State
	}{{h.Hold, plugins.Held}, {h.Hold, plugins.Held}, {h.Release, plugins.Queued}, {h.Release, plugins.Queued}, {h.Hold, plugins.Held}} {
		for i, err := range do.call(t.Context(), append(hs, s.Stray)) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		}
		if len(hs) > 1 {
			s.reach(t, hs[1], do.want)
		}
	}
	if st := s.Submitter.Status(t.Context(), hs)[0]; st.State != plugins.Done {
		t.Errorf("a job that had ended: %+v", st)
	}
	if len(hs) == 1 {
		return
	}
	for _, err := range s.Submitter.Cancel(t.Context(), hs[1:]) {
		if err != nil {
			t.Error(err)
		}
	}
	if st := s.end(t, hs[1:])[0]; st.State != plugins.Cancelled {
		t.Errorf("a held job that was cancelled: %+v", st)
	}
}

// reach waits until a job is in a state.
func (s *suite) reach(t *testing.T, h plugins.Handle, want plugins.State) {
	t.Helper()
	s.wait(t, []plugins.Handle{h}, func(st plugins.State) bool { return st == want })
}

func (s *suite) unknown(t *testing.T) {
	hs := s.start(t, s.request(t, "exit 0"))
	sts := s.Submitter.Status(t.Context(), []plugins.Handle{s.Stray, hs[0]})
	if sts[0].State != plugins.Lost || sts[0].Err == nil {
		t.Errorf("unknown job: %+v, want lost and an error", sts[0])
	} else {
		kindOf(t, sts[0].Err)
	}
	if sts[1].Err != nil || sts[1].State == plugins.Lost {
		t.Errorf("known job beside an unknown one: %+v", sts[1])
	}
}
