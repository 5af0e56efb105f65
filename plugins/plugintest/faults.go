package plugintest

import (
	"context"
	"slices"
	"testing"
	"time"

	"gridbroker/plugins"
)

// prompt is how long a call with a dead context may take.
const prompt = 5 * time.Second

// deadContext: a call returns at once, says so, and starts nothing.
func (s *suite) deadContext(t *testing.T) {
	hs := s.start(t, s.request(t, "exit 0"))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	begin := time.Now()
	req := s.request(t, "exit 0")
	res := s.Submitter.Submit(ctx, []plugins.Request{req}, nil)
	if res[0].Err == nil {
		s.remove([]plugins.Handle{res[0].Handle})
		t.Error("Submit with a dead context made a job")
	} else if k := kindOf(t, res[0].Err); k == plugins.Invalid || k == plugins.Credential {
		t.Errorf("Submit with a dead context blames the job or the user: %v", res[0].Err)
	}
	if st := s.Submitter.Status(ctx, hs)[0]; st.Err != nil && st.State != plugins.Unknown {
		t.Errorf("Status with a dead context gives a verdict: %+v", st)
	}
	s.Submitter.Cancel(ctx, hs)
	if f, ok := s.Submitter.(plugins.Fetcher); ok {
		f.Fetch(ctx, []plugins.FetchRequest{{Handle: hs[0], Dir: t.TempDir()}}, nil)
	}
	if took := time.Since(begin); took > prompt {
		t.Errorf("calls with a dead context took %v", took)
	}
	s.notThere(t, req.ID)
}

// notThere: the back-end has no job of our id.
func (s *suite) notThere(t *testing.T, id string) {
	t.Helper()
	f, ok := s.Submitter.(plugins.Finder)
	if !ok {
		return
	}
	found, err := f.Find(t.Context(), s.Endpoint, []string{id})
	if err != nil || len(found) != 0 {
		t.Errorf("a job that was not submitted is there: %v %v", found, err)
	}
}

// deadEndpoint: nothing arrived, and the broker may try another.
func (s *suite) deadEndpoint(t *testing.T) {
	if s.Dead.URL == "" {
		t.Skip("this back-end has no endpoint that could be dead")
	}
	reqs := []plugins.Request{s.request(t, "exit 0"), s.request(t, "exit 0")}
	for i := range reqs {
		reqs[i].Endpoint = s.Dead
	}
	for i, r := range s.Submitter.Submit(t.Context(), reqs, nil) {
		if r.Err == nil || r.ID != reqs[i].ID {
			t.Fatalf("submission to a dead endpoint: %+v", r)
		}
		if k := kindOf(t, r.Err); k != plugins.Unavailable {
			t.Errorf("submission to a dead endpoint is %s: %v", k, r.Err)
		}
	}
	h := s.Stray
	h.Endpoint = s.Dead.URL
	st := s.Submitter.Status(t.Context(), []plugins.Handle{h})[0]
	if st.State != plugins.Unknown || st.Err == nil {
		t.Errorf("status from a dead endpoint: %+v, want unknown and an error", st)
	}
	if err := s.Submitter.Cancel(t.Context(), []plugins.Handle{h})[0]; err == nil {
		t.Error("a dead endpoint cancelled a job")
	}
	if f, ok := s.Submitter.(plugins.Finder); ok {
		if _, err := f.Find(t.Context(), s.Dead, []string{"x"}); err == nil {
			t.Error("Find at a dead endpoint gives a verdict")
		}
	}
}

func (s *suite) find(t *testing.T) {
	f, ok := s.Submitter.(plugins.Finder)
	if !ok {
		t.Skip("not a Finder")
	}
	req := s.request(t, "exit 0")
	hs := s.start(t, req)
	found, err := f.Find(t.Context(), s.Endpoint, []string{"pt-no-such-job", req.ID})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[req.ID] != hs[0] {
		t.Errorf("found %v, want only %v", found, hs[0])
	}
	if in, ok := s.Submitter.(plugins.Inventory); ok {
		s.inventory(t, in, req, hs[0])
	}
}

// inventory: a job is among those of the endpoint once, and its description is
// that of the job.
func (s *suite) inventory(t *testing.T, in plugins.Inventory, req plugins.Request, h plugins.Handle) {
	all, err := in.Inventory(t.Context(), s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var mine []plugins.Present
	for _, p := range all {
		if p.ID == req.ID {
			mine = append(mine, p)
		}
	}
	if len(mine) != 1 || mine[0].Handle != h {
		t.Errorf("the inventory has %v of %s, want %v", mine, req.ID, h)
	}
	described, err := in.Describe(t.Context(), []plugins.Handle{h})
	if err != nil {
		t.Fatal(err)
	}
	if len(described) != 1 || described[0] == nil {
		t.Fatalf("described as %v", described)
	}
	if got := described[0]; got.Executable != req.Job.Executable || !slices.Equal(got.Args, req.Job.Args) {
		t.Errorf("described as %s %q, want %s %q", got.Executable, got.Args, req.Job.Executable, req.Job.Args)
	}
	if _, err := in.Inventory(t.Context(), s.Dead); s.Dead.URL != "" && err == nil {
		t.Error("Inventory of a dead endpoint gives a verdict")
	}
}
