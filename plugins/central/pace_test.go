package central

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
		c := &client{replicas: &plugins.Replicas{Bases: []string{"http://127.0.0.1:1"}}, endpoint: "grid+http://127.0.0.1:1", http: &http.Client{Transport: answers(late)}, set: &credential.Set{}}
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

// line is a connection of so many bytes a second, of which it passes on as many.
type line struct {
	rate, left int
}

// Read implements io.Reader.
func (l *line) Read(p []byte) (int, error) {
	n := min(len(p), l.rate, l.left)
	if l.left -= n; n == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Duration(n) * time.Second / time.Duration(l.rate))
	return n, nil
}

// On a slow line jobs with large files are submitted and large files are brought all the same;
// what takes nothing, or drips, is given up.
func TestSlowLines(t *testing.T) {
	for name, s := range map[string]struct {
		up, down int // bytes a second
		q        question
		gone     bool
		within   time.Duration
	}{
		"jobs with large files":    {100 << 10, 1 << 20, question{method: "POST", body: make([]byte, maxRequest)}, false, 6 * time.Minute},
		"a server that takes none": {1, 1 << 20, question{method: "POST", body: make([]byte, maxRequest)}, true, 2 * time.Minute},
		"a small one neither":      {1, 1 << 20, question{method: "POST", body: make([]byte, 1000)}, true, 2 * time.Minute},
		"a large file":             {1 << 20, 100 << 10, question{method: "GET", file: true}, false, 6 * time.Minute},
		"a file that drips":        {1 << 20, 1 << 10, question{method: "GET", file: true}, true, 2 * time.Minute},
		"a document that drips":    {1 << 20, 100 << 10, question{method: "GET"}, true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			size := 15 << 20
			if s.q.file {
				size = 30 << 20
			}
			synctest.Test(t, func(t *testing.T) {
				answer := func(r *http.Request) (*http.Response, error) {
					if r.Body != nil {
						buf := make([]byte, 32<<10) // as much as a transport takes at a time
						for up := (&line{s.up, int(r.ContentLength)}); up.left > 0; {
							n, err := r.Body.Read(buf)
							for n > 0 && err == nil {
								took, _ := up.Read(buf[:n])
								n, err = n-took, r.Context().Err()
							}
							if err != nil {
								return nil, err
							}
						}
					}
					return &http.Response{StatusCode: http.StatusOK, Body: &body{&line{s.down, size}, r.Context()}}, nil
				}
				c := &client{replicas: &plugins.Replicas{Bases: []string{"http://127.0.0.1:1"}}, http: &http.Client{Transport: answers(answer)}, set: &credential.Set{}}
				began := time.Now()
				_, err := c.raw(t.Context(), s.q)
				if took := time.Since(began); errors.Is(err, plugins.ErrSlow) != s.gone || !s.gone && err != nil || took > s.within+time.Second {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// body is an answer that ends with its request.
type body struct {
	io.Reader
	ctx context.Context
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error { return nil }

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
			back := steadily(t, url, answer)
			began := time.Now()
			r := back.Submit(t.Context(), []plugins.Request{{ID: "a", Endpoint: glue.Endpoint{URL: url, Interface: Interface}, Job: &jdl.Job{Executable: "/bin/true"}}}, nil)[0]
			e, failed := errors.AsType[*plugins.Error](r.Err)
			if failed == c.submitted || failed && e.Kind != plugins.Unavailable || tries != c.tries || time.Since(began) > 15*time.Second {
				t.Errorf("%s: %+v after %d tries, %v", name, r, tries, time.Since(began))
			}
		})
	}
}

// A scheduler whose database went away while it wrote jobs down does not know whether it has them. It is
// asked again under the same keys; where it never says, that stays in doubt, whatever it
// answers afterwards: nobody else may be given such a job.
func TestInDoubtIsAskedAgain(t *testing.T) {
	const nonsense = http.StatusAccepted
	for name, c := range map[string]struct {
		answers []int // the last one for ever
		kind    plugins.Kind
	}{
		"answered at last":       {[]int{504, 503, 504, 200}, 0},
		"never":                  {[]int{504}, plugins.Uncertain},
		"then without database":  {[]int{504, 503}, plugins.Uncertain},
		"then not let in":        {[]int{504, 401}, plugins.Uncertain},
		"never in doubt":         {[]int{503}, plugins.Unavailable},
		"not let in":             {[]int{401}, plugins.Credential},
		"a fault of the service": {[]int{500, 200}, 0},
		"nonsense":               {[]int{nonsense}, plugins.Uncertain}, // which is asked for once
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			answer := func(*http.Request) (*http.Response, error) {
				code := c.answers[min(tries, len(c.answers)-1)]
				tries++
				text := `{"detail":"later"}`
				if code == http.StatusOK {
					text = `{"jobs":[{"key":"a","id":"1"}]}`
				}
				if code == nonsense {
					text = "nonsense"
				}
				return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
			}
			url := "grid+http://127.0.0.1:1"
			back := steadily(t, url, answer)
			began := time.Now()
			r := back.Submit(t.Context(), []plugins.Request{{ID: "a", Endpoint: glue.Endpoint{URL: url, Interface: Interface}, Job: &jdl.Job{Executable: "/bin/true"}}}, nil)[0]
			var kind plugins.Kind
			if e, failed := errors.AsType[*plugins.Error](r.Err); failed {
				kind = e.Kind
			}
			if kind != c.kind || c.kind == 0 && r.Handle.ID != "1" || time.Since(began) > patience || c.answers[0] == nonsense && tries > 1 {
				t.Errorf("%s: %+v after %d tries, %v", name, r, tries, time.Since(began))
			}
		})
	}
}

// steady is a user whose credentials stay as they are.
var steady = plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return &credential.Set{}, nil }}

// steadily is the back-end of that user, to whom a scheduler gives the answers of a test.
func steadily(t *testing.T, url string, answer answers) *Backend {
	t.Helper()
	opened, err := Open(steady)
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*Backend)
	c := &client{replicas: &plugins.Replicas{Bases: []string{"http://127.0.0.1:1"}}, endpoint: url, http: &http.Client{Transport: answer}, set: &credential.Set{}}
	if _, err := b.clients.For(url, shows(c, c.replicas.Bases), func(**client) (*client, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	return b
}

// Where one replica asks for patience, as when it has just begun to lead, one that hangs is not waited for as if it were
// the last: the first is asked again.
func TestWhoAsksForPatienceIsAskedAgain(t *testing.T) {
	asked := 0
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	begins := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(hangs.Close)
	t.Cleanup(begins.Close)
	opened, err := Open(steady)
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*Backend)
	t.Cleanup(func() { b.Close() })
	url, began := "grid+"+begins.URL+"?or="+strings.TrimPrefix(hangs.URL, "http://"), time.Now()
	err = b.Cancel(t.Context(), []plugins.Handle{{Interface: Interface, Endpoint: url, ID: "1"}})[0]
	if took := time.Since(began); err != nil || asked != 2 || took > answerTime/2 {
		t.Errorf("%v after %v, asked %d times", err, took, asked)
	}
}
