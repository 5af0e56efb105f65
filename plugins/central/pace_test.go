package central

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// answers are a server's.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// late answers each question shortly before it is given up.
func late(*http.Request) (*http.Response, error) {
	time.Sleep(answerTime - time.Second)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

// A scheduler that gives each of a hundred thousand files late is given up, and what came is there.
func TestFilesThatComeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{base: "http://127.0.0.1:1", endpoint: "grid+http://127.0.0.1:1", http: &http.Client{Transport: answers(late)}, set: &credential.Set{}}
		var v view
		for i := range maxOutput {
			v.Output = append(v.Output, fmt.Sprint("f", i))
		}
		began := time.Now()
		r := c.fetch(t.Context(), plugins.FetchRequest{Dir: t.TempDir()}, v)
		if took := time.Since(began); !errors.Is(r.Err, plugins.ErrSlow) || took > 10*time.Minute || len(r.Files) == 0 {
			t.Errorf("%v after %v, %d files", r.Err, took, len(r.Files))
		}
	})
}

// A scheduler that is busy, or without its database for a moment, and says so has taken nothing:
// it is asked again, for some seconds in all, and its jobs are there once.
func TestBusyForAMoment(t *testing.T) {
	for name, c := range map[string]struct {
		refusals  int
		tries     int
		retry     string
		submitted bool
	}{
		"for two answers": {2, 3, "", true},
		"as it says":      {1, 2, "3", true},
		"for long":        {1000, 16, "", false},
		"says for long":   {1000, 1, "600", false},
		"nonsense":        {1, 2, "-1e9", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			answer := func(*http.Request) (*http.Response, error) {
				resp := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {c.retry}}, Body: io.NopCloser(strings.NewReader(`{"detail":"later"}`))}
				if tries++; tries > c.refusals {
					resp.StatusCode, resp.Body = http.StatusOK, io.NopCloser(strings.NewReader(`{"jobs":[{"key":"a","id":"1"}]}`))
				}
				return resp, nil
			}
			url := "grid+http://127.0.0.1:1"
			back := &Backend{clients: map[string]*client{url: {base: "http://127.0.0.1:1", endpoint: url, http: &http.Client{Transport: answers(answer)}, set: &credential.Set{}}}}
			began := time.Now()
			r := back.Submit(t.Context(), []plugins.Request{{ID: "a", Endpoint: glue.Endpoint{URL: url, Interface: Interface}, Job: &jdl.Job{Executable: "/bin/true"}}}, nil)[0]
			e, failed := errors.AsType[*plugins.Error](r.Err)
			if failed == c.submitted || failed && e.Kind != plugins.Unavailable || tries != c.tries || time.Since(began) > 15*time.Second {
				t.Errorf("%s: %+v after %d tries, %v", name, r, tries, time.Since(began))
			}
		})
	}
}
