package central_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// against is the back-end, and the URL of a scheduler that answers like this.
func against(t *testing.T, answer http.HandlerFunc) (*central.Backend, string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	back, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return &credential.Set{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { back.(*central.Backend).Close() })
	return back.(*central.Backend), strings.Replace(server.URL, "http", "grid+http", 1)
}

func requests(url string, ids ...string) []plugins.Request {
	var reqs []plugins.Request
	for _, id := range ids {
		reqs = append(reqs, plugins.Request{ID: id, Endpoint: glue.Endpoint{URL: url, Interface: central.Interface}, Job: &jdl.Job{Executable: "/bin/true"}})
	}
	return reqs
}

// noKind is no error of a back-end.
const noKind = plugins.Kind(255)

func kindOf(err error) plugins.Kind {
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e.Kind
	}
	return noKind
}

// What a scheduler answers decides whether jobs may be sent elsewhere: only where
// they cannot have arrived. A question changes nothing and is never uncertain.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}
	says := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60") // longer than anybody waits
			w.WriteHeader(code)
			io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		answer        http.HandlerFunc
		submit, asked plugins.Kind
	}{
		"no answer":             {broken, plugins.Uncertain, plugins.Unavailable},
		"no JSON":               {says(200, "<html>"), plugins.Uncertain, plugins.Unavailable},
		"half an answer":        {says(200, `{"jobs":[{"key":"a","id":`), plugins.Uncertain, plugins.Unavailable},
		"who is that":           {says(401, ""), plugins.Credential, plugins.Credential},
		"not for you":           {says(403, `{"detail":"no"}`), plugins.Credential, plugins.Credential},
		"too large":             {says(413, "too large"), plugins.Refused, plugins.Refused},
		"too often":             {says(429, ""), plugins.Unavailable, plugins.Unavailable},
		"it failed meanwhile":   {says(500, ""), plugins.Uncertain, plugins.Unavailable},
		"a proxy lost it":       {says(502, ""), plugins.Uncertain, plugins.Unavailable},
		"not now":               {says(503, ""), plugins.Unavailable, plugins.Unavailable},
		"a proxy waited":        {says(504, ""), plugins.Uncertain, plugins.Unavailable},
		"sent somewhere else":   {says(302, ""), plugins.Refused, plugins.Refused},
		"fewer answers":         {says(200, `{"jobs":[]}`), plugins.Uncertain, noKind},
		"more answers":          {says(200, `{"jobs":[{"key":"a","id":"1"},{"key":"a","id":"2"}]}`), plugins.Uncertain, noKind},
		"of another job":        {says(200, `{"jobs":[{"key":"b","id":"1"}]}`), plugins.Uncertain, noKind},
		"refused with a reason": {says(200, `{"jobs":[{"key":"a","error":"no budget"}]}`), plugins.Refused, noKind},
		"neither id nor reason": {says(200, `{"jobs":[{"key":"a"}]}`), plugins.Refused, noKind},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some are asked again for a while
			b, url := against(t, c.answer)
			r := b.Submit(t.Context(), requests(url, "a"), nil)[0]
			if kindOf(r.Err) != c.submit || r.ID != "a" || r.Handle.ID != "" {
				t.Errorf("%+v, want %v", r, c.submit)
			}
			st := b.Status(t.Context(), []plugins.Handle{{Interface: central.Interface, Endpoint: url, ID: "x"}})[0]
			if c.asked != noKind && (kindOf(st.Err) != c.asked || st.State != plugins.Unknown) {
				t.Errorf("asked: %s %v, want %v", st.State, st.Err, c.asked)
			}
			if c.asked == noKind && (st.State != plugins.Lost || st.Err == nil) {
				t.Errorf("a job that is not known is %s, %v", st.State, st.Err)
			}
		})
	}
}

// One of two jobs that is answered twice leaves the other without an answer: it may
// have arrived, and is neither taken nor refused.
func TestAnswersByKey(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"jobs":[{"key":"b","id":"1"},{"key":"b","id":"1"}]}`)
	})
	rs := b.Submit(t.Context(), requests(url, "a", "b"), nil)
	if kindOf(rs[0].Err) != plugins.Uncertain || rs[0].Handle.ID != "" {
		t.Errorf("the one without an answer: %+v", rs[0])
	}
	if rs[1].Err != nil || rs[1].Handle.ID != "1" || rs[1].Handle.Endpoint != url {
		t.Errorf("the other: %+v", rs[1])
	}
}

// What nobody asked for is not found, nor is a job without a name.
func TestFoundIsWhatWasAskedFor(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"jobs":[{"key":"a","id":"1"},{"key":"b","id":""},{"key":"other","id":"2"},{"key":"","id":"3"}]}`)
	})
	found, err := b.Find(t.Context(), glue.Endpoint{URL: url, Interface: central.Interface}, []string{"a", "b"})
	if err != nil || len(found) != 1 || found["a"].ID != "1" {
		t.Errorf("%v, %v", found, err)
	}
}

// A job is gone where the scheduler says so, not where it will not remove it.
func TestCleanedIsGone(t *testing.T) {
	for status, gone := range map[int]bool{204: true, 404: true, 410: true, 409: false, 403: false, 503: false} {
		b, url := against(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		if err := b.Clean(t.Context(), []plugins.Handle{{Interface: central.Interface, Endpoint: url, ID: "1"}})[0]; (err == nil) != gone {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// Jobs with files go in requests that a scheduler reads: it refuses longer ones whole.
func TestRequestsOfBoundedSize(t *testing.T) {
	var sent, most atomic.Int64
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent.Add(1)
		most.Store(max(most.Load(), int64(len(text))))
		var in struct {
			Jobs []struct{ Key string }
		}
		json.Unmarshal(text, &in)
		var out []string
		for _, j := range in.Jobs {
			out = append(out, fmt.Sprintf(`{"key":%q,"id":"s%s"}`, j.Key, j.Key))
		}
		fmt.Fprintf(w, `{"jobs":[%s]}`, strings.Join(out, ","))
	})
	input := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(input, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 30 {
		ids = append(ids, fmt.Sprint("j", i))
	}
	reqs := requests(url, ids...)
	for i := range reqs {
		reqs[i].Job.InputSandbox = []jdl.InputFile{{Source: input, Name: "in"}}
	}
	reqs[15].Job.InputSandbox = []jdl.InputFile{{Source: input + "-gone", Name: "in"}}
	for i, r := range b.Submit(t.Context(), reqs, nil) {
		if i == 15 {
			if kindOf(r.Err) != plugins.Refused {
				t.Errorf("a job without its file: %+v", r)
			}
		} else if r.Err != nil || r.Handle.ID != "s"+ids[i] {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if sent.Load() != 2 || most.Load() > 40<<20 {
		t.Errorf("%d requests, the longest of %d bytes", sent.Load(), most.Load())
	}
}

// A state that is none of ours is no state that a record could keep.
func TestStatesOfOthers(t *testing.T) {
	for said, want := range map[string]plugins.State{
		"queued": plugins.Queued, "done": plugins.Done, "lost": plugins.Lost,
		"": plugins.Unknown, "happy": plugins.Unknown, "intended": plugins.Unknown, "submitting": plugins.Unknown, "DONE": plugins.Unknown, "unknown": plugins.Unknown,
	} {
		b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"jobs":[{"id":"x","state":"s","plugins":%q,"started":5,"ended":3,"exit_code":0}]}`, said)
		})
		st := b.Status(t.Context(), []plugins.Handle{{Interface: central.Interface, Endpoint: url, ID: "x"}})[0]
		if st.State != want || (st.Err != nil) != (want == plugins.Unknown) || st.WallTime != 0 {
			t.Errorf("%q: %s for %v, %v", said, st.State, st.WallTime, st.Err)
		}
	}
}

// Files with names that lead elsewhere are not written there.
func TestFetchStaysInside(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, "theirs")
			return
		}
		io.WriteString(w, `{"jobs":[{"id":"x","state":"done","plugins":"done","output":["ok","sub/ok","../out","/tmp/x"]}]}`)
	})
	dir := filepath.Join(t.TempDir(), "here")
	h := plugins.Handle{Interface: central.Interface, Endpoint: url, ID: "x"}
	r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: dir}}, nil)[0]
	if r.Err == nil || len(r.Files) != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(filepath.Join(dir, "..", "out")); err == nil {
		t.Error("a file was written outside")
	}
	r = b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"s*/ok", "gone"}}}, nil)[0]
	if r.Err == nil || len(r.Files) != 1 || r.Files[0] != "sub/ok" {
		t.Errorf("by name: %+v", r)
	}
}

// TestOneIDForSeveralJobs: a scheduler that gives one id to several jobs is not believed that it has taken them.
func TestOneIDForSeveralJobs(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"jobs":[{"key":"a","id":"same"},{"key":"b","id":"same"},{"key":"c","id":"other"}]}`)
	})
	got := b.Submit(t.Context(), requests(url, "a", "b", "c"), nil)
	for i, want := range []plugins.Kind{plugins.Uncertain, plugins.Uncertain, noKind} {
		if kindOf(got[i].Err) != want || (got[i].Handle.ID != "") != (want == noKind) {
			t.Errorf("%s: %v, %q", got[i].ID, got[i].Err, got[i].Handle.ID)
		}
	}
}

// Of a request that the scheduler does not take its user hears what is wrong where, and not that something is.
func TestWhatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	back, url := against(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"title": "Unprocessable Entity", "detail": "validation failed", "errors": [{"message": "expected length <= 1000000", "location": "body.jobs[0].jdl"}]}`)
	})
	r := back.Submit(t.Context(), requests(url, "1"), nil)[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "validation failed: body.jobs[0].jdl expected length <= 1000000 (422)") {
		t.Error(r.Err)
	}
}
