package arcrest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"gridbroker/plugins"
)

func list(w http.ResponseWriter, state string) {
	fmt.Fprintf(w, "<jobs><job><id>job1</id><state>%s</state></job></jobs>", state)
}

// status asks a fake about one job.
func (f *fake) status(t *testing.T) plugins.Status {
	t.Helper()
	return f.backend(t).Status(t.Context(), []plugins.Handle{{Interface: "org.nordugrid.arcrest", Endpoint: f.url(), ID: "job1"}})[0]
}

func TestStatusAsksNothingTooMuch(t *testing.T) {
	for state, want := range map[string][]string{
		"PREPARED":    {"GET /arex/rest/1.0/jobs?state="},
		"ACCEPTING":   {"GET /arex/rest/1.0/jobs?state="},
		"RUNNING":     {"GET /arex/rest/1.0/jobs?state=", "POST /arex/rest/1.0/jobs?action=info"},
		"EXITINGLRMS": {"GET /arex/rest/1.0/jobs?state=", "POST /arex/rest/1.0/jobs?action=info"},
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
			if r.Method == http.MethodGet {
				list(w, state)
			} else {
				answerInfo(w, body, state)
			}
			return true
		})
		if st := f.status(t); st.State != stateOf(state) || st.Err != nil {
			t.Errorf("%s: %+v", state, st)
		}
		if len(f.seen) != len(want) {
			t.Errorf("%s: %q", state, f.seen)
		}
		for i := range min(len(want), len(f.seen)) {
			if !strings.HasPrefix(f.seen[i], want[i]) {
				t.Errorf("%s: %q", state, f.seen)
			}
		}
	}
}

// A server that has given version 1.0 up is asked for its versions, once.
func TestServerWithoutTheAssumedVersion(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.URL.Path == "/arex/rest":
			fmt.Fprint(w, "<versions><version>1.1</version></versions>")
		case strings.Contains(r.URL.Path, "/1.0/"):
			http.Error(w, "Version Not Supported", http.StatusNotFound)
		case r.Method == http.MethodGet:
			list(w, "RUNNING")
		default:
			answerInfo(w, body, "RUNNING")
		}
		return true
	})
	if st := f.status(t); st.State != plugins.Running || st.Err != nil {
		t.Errorf("%+v", st)
	}
	if f.count("/1.0/") != 1 || f.count("GET /arex/rest") != 3 {
		t.Errorf("%q", f.seen)
	}
}

// Something that is not there is so in the version the server speaks.
func TestMissingFileIsNoOtherVersion(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.URL.Path == "/arex/rest" {
			fmt.Fprint(w, "<versions><version>1.0</version></versions>")
			return true
		}
		http.Error(w, "File Not Found", http.StatusNotFound)
		return true
	})
	b := f.backend(t)
	for range 2 {
		_, err := b.Peek(t.Context(), plugins.Handle{Endpoint: f.url(), ID: "job1"}, "out.txt", 0, &strings.Builder{})
		if kindOf(t, err) != plugins.Refused || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "File Not Found") {
			t.Error(err)
		}
	}
	if f.count("/rest") != 3 {
		t.Errorf("%q", f.seen)
	}
}

func TestStatusWhereNoArexIs(t *testing.T) {
	for name, hook := range map[string]http.HandlerFunc{
		"nothing":   http.NotFound,
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool { hook(w, r); return true })
		st := f.status(t)
		if kindOf(t, st.Err) != plugins.Unavailable || !strings.Contains(st.Err.Error(), "no A-REX") || st.State != plugins.Unknown {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
