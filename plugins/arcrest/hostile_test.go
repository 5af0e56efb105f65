package arcrest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// pour writes a text again and again until so many bytes are written.
func pour(w io.Writer, text string, size int) {
	block := []byte(strings.Repeat(text, 1+64<<10/len(text)))
	for size > 0 {
		n, err := w.Write(block[:min(size/len(text)*len(text)+len(text), len(block))])
		if err != nil {
			return
		}
		size -= n
	}
}

// Lists without an end: of empty jobs, of jobs, of one job that does not end,
// of elements that are nested, in an answer that has no root.
func TestEndlessAnswers(t *testing.T) {
	for name, c := range map[string]struct{ head, text string }{
		"empty jobs": {"<jobs>", "<job/>"},
		"jobs":       {"<jobs>", "<job><id>abcdef</id><state>RUNNING</state></job>"},
		"one job":    {"<jobs><job><id>", "x"},
		"nested":     {"<jobs>", "<job>"},
		"blank":      {"", " "},
		"attribute":  {"<jobs a='", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if !strings.HasSuffix(r.URL.Path, "/jobs") {
					return false
				}
				io.WriteString(w, c.head)
				pour(w, c.text, 60<<20)
				return true
			})
			well := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ string) bool { list(w, "PREPARED"); return true })
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				if st := f.status(t); st.Err == nil || kindOf(t, st.Err) != plugins.Unavailable || !strings.Contains(st.Err.Error(), f.Listener.Addr().String()) {
					t.Errorf("%+v", st)
				}
			})
			if st := well.status(t); st.Err != nil {
				t.Error(st.Err)
			}
		})
	}
}

// session answers for the session directory of job1, which has one file "o"
// of 1000 bytes, by the given function.
func session(t *testing.T, file http.HandlerFunc) *fake {
	return newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/session"):
			fmt.Fprint(w, `<list><file size="1000">o</file></list>`)
		case strings.HasSuffix(r.URL.Path, "/session/o"):
			file(w, r)
		default:
			return false
		}
		return true
	})
}

func (f *fake) fetch(t *testing.T, dir string) plugins.FetchResult {
	t.Helper()
	b := f.backend(t)
	c, err := b.client(t.Context(), "x", f.url(), "")
	check(t, err)
	return b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: c.handle("job1"), Dir: dir, Version: "v"}}, nil)[0]
}

// A file that is shorter or longer than listed is none, and does not fill the disk.
func TestShortAndLongFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file http.HandlerFunc
		kind plugins.Kind
	}{
		"short":   {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "abc") }, plugins.Unavailable},
		"chunked": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "abc"); w.(http.Flusher).Flush() }, plugins.Unavailable},
		"empty":   {func(w http.ResponseWriter, _ *http.Request) {}, plugins.Unavailable},
		"416":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(416) }, plugins.Refused},
		"longer":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1001)) }, plugins.Refused},
		"endless": {func(w http.ResponseWriter, _ *http.Request) { pour(w, "x", 400<<20) }, plugins.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), session(t, c.file)
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				if r := f.fetch(t, dir); r.Err == nil || kindOf(t, r.Err) != c.kind {
					t.Errorf("%+v", r)
				}
			})
			if _, err := os.Stat(filepath.Join(dir, "o")); err == nil {
				t.Error("it is in place")
			}
			filepath.Walk(dir, func(path string, info os.FileInfo, _ error) error {
				if info.Size() > 8192 {
					t.Errorf("%s has %d bytes", path, info.Size())
				}
				return nil
			})
		})
	}
}

// What lies there from before is gone on with only where it is the same file's.
func TestStaleParts(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 100)
	for name, c := range map[string]struct{ part, note, tag, firstRange string }{
		"of the same size, unknown":   {strings.Repeat("X", 1000), "", "", ""},
		"unknown":                     {"XYZ", "", "", ""},
		"of another size":             {string(content[:500]), `{"size":2000,"validator":"v"}`, "", ""},
		"of a file that may change":   {string(content[:500]), `{"size":1000}`, "", ""},
		"of other content":            {strings.Repeat("X", 500), `{"size":1000,"validator":"v"}`, "", "bytes=244-"},
		"whole, of other content":     {strings.Repeat("X", 1000), `{"size":1000,"validator":"v"}`, "", "bytes=744-"},
		"of this file":                {string(content[:500]), `{"size":1000,"validator":"v"}`, "", "bytes=244-"},
		"of another run":              {string(content[:500]), `{"size":1000,"validator":"w"}`, "", "bytes=244-"},
		"of this file, with a tag":    {string(content[:500]), `{"size":1000,"validator":"\"a\""}`, `"a"`, "bytes=244-"},
		"of this file, now another":   {string(content[:500]), `{"size":1000,"validator":"\"a\""}`, `"b"`, "bytes=244-"},
		"begun when there was no tag": {string(content[:500]), `{"size":1000,"validator":"v"}`, `"b"`, "bytes=244-"},
		"nonsense":                    {string(content[:500]), `{`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			first, asked := "", false
			f := session(t, func(w http.ResponseWriter, r *http.Request) {
				if !asked {
					first, asked = r.Header.Get("Range"), true
				}
				if c.tag != "" {
					w.Header().Set("ETag", c.tag)
				}
				http.ServeContent(w, r, "o", time.Time{}, bytes.NewReader(content))
			})
			dir := t.TempDir()
			put := func(name, text string) {
				check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
				check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			put(".grid-job1/o", c.part)
			if c.note != "" {
				put(".grid-job1-parts/o", c.note)
			}
			if r := f.fetch(t, dir); r.Err != nil {
				t.Fatal(r.Err)
			}
			same(t, filepath.Join(dir, "o"), content)
			if first != c.firstRange {
				t.Errorf("first asked for %q", first)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".grid*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Whatever a server answers when a file is gone on with, what is reported as fetched is one whole
// file that it has given: never the beginning of one and the end of another.
func TestNoMixedFiles(t *testing.T) {
	old, now := strings.Repeat("0123456789", 100), strings.Repeat("0123456789", 50)+strings.Repeat("9876543210", 50)
	part := func(tag, contentRange, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range map[string]string{"ETag": tag, "Content-Range": contentRange, "Content-Type": kind} {
				if value != "" {
					w.Header().Set(name, value)
				}
			}
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		note   string // of the part of the old file
		answer http.HandlerFunc
	}{
		"another place of the file":    {`"a"`, part(`"a"`, "bytes 344-999/1000", "", now[344:])},
		"a place that is not said":     {`"a"`, part(`"a"`, "", "", now[244:]+"x")},
		"another size":                 {`"a"`, part(`"a"`, "bytes 244-1999/2000", "", now[244:])},
		"less than was asked for":      {`"a"`, part(`"a"`, "bytes 244-899/1000", "", now[244:900])},
		"several parts in one":         {`"a"`, part(`"a"`, "", "multipart/byteranges; boundary=x", now[244:])},
		"another file, weak tags":      {`W/"a"`, part(`W/"a"`, "bytes 244-999/1000", "", now[244:])},
		"another file, another tag":    {`"a"`, part(`"b"`, "bytes 244-999/1000", "", now[244:])},
		"another file, no tag":         {"", part("", "bytes 244-999/1000", "", now[244:])},
		"a file that was still open":   {"", part("", "bytes 244-999/1000", "", now[244:])},
		"a beginning that was changed": {`"a"`, part(`"a"`, "bytes 244-999/1000", "", strings.Repeat("x", 756))},
	} {
		t.Run(name, func(t *testing.T) {
			f := session(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") != "" {
					c.answer(w, r)
					return
				}
				_, _ = io.WriteString(w, now)
			})
			dir := t.TempDir()
			note, err := json.Marshal(map[string]any{"size": 1000, "validator": c.note})
			check(t, errors.Join(err, os.MkdirAll(filepath.Join(dir, ".grid-job1-parts"), 0o700), os.MkdirAll(filepath.Join(dir, ".grid-job1"), 0o700),
				os.WriteFile(filepath.Join(dir, ".grid-job1-parts", "o"), note, 0o600), os.WriteFile(filepath.Join(dir, ".grid-job1", "o"), []byte(old[:500]), 0o600)))
			if r := f.fetch(t, dir); r.Err != nil {
				t.Fatal(r.Err)
			}
			same(t, filepath.Join(dir, "o"), []byte(now))
		})
	}
}

// A session directory without an end.
func TestEndlessTree(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if !strings.Contains(r.URL.Path, "/session") {
			return false
		}
		fmt.Fprint(w, "<list>")
		for i := range 10 {
			fmt.Fprintf(w, "<dir>d%d</dir>", i)
		}
		fmt.Fprint(w, "</list>")
		return true
	})
	if r := f.fetch(t, t.TempDir()); r.Err == nil || kindOf(t, r.Err) != plugins.Refused {
		t.Errorf("%+v", r)
	}
	if n := f.count("/session"); n > maxDirs+1 {
		t.Errorf("%d requests", n)
	}
	g := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if strings.Contains(r.URL.Path, "/session") {
			fmt.Fprint(w, "<list>")
			pour(w, "<file/>", 60<<20)
			return true
		}
		return false
	})
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		if r := g.fetch(t, t.TempDir()); r.Err == nil {
			t.Errorf("%+v", r)
		}
	})
}

// A token for one endpoint is shown to no other, unless the user named it; and
// what a server says of it is not repeated.
func TestTokenOfAnotherAudience(t *testing.T) {
	issuer, err := testbed.OpenIssuer(t.TempDir(), "https://issuer.example.org/")
	check(t, err)
	text, err := issuer.Token("alice", time.Hour, map[string]any{"aud": "https://other.example.org"})
	check(t, err)
	token, err := credential.ParseToken("at hand", text)
	check(t, err)
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		status(w, "403 I do not like "+r.Header.Get("Authorization"))
		return true
	})
	set := &credential.Set{Trust: f.pki.trust(t), Token: token}
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, StateDir: t.TempDir()})
	t.Cleanup(func() { b.Close() })
	err = b.Submit(t.Context(), at(f.url(), shell("1", "exit 0")), nil)[0].Err
	if p, ok := errors.AsType[*credential.Finding](err); kindOf(t, err) != plugins.Credential || !ok || p.ID != "token.audience" {
		t.Error(err)
	}
	if n := f.count(""); n != 0 {
		t.Errorf("%d requests", n)
	}
	set.AnyToken = credential.HostPatterns([]string{"127.0.0.1"})
	err = b.Submit(t.Context(), at(f.url(), shell("1", "exit 0")), nil)[0].Err
	if n := f.count(""); n == 0 || err == nil || strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "I do not like") {
		t.Errorf("%d requests, %v", n, err)
	}
}

// Whose an opaque token is nobody knows here, and nobody is said to be shown.
func TestPingWithOpaqueToken(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ string) bool { status(w, "403 no"); return true })
	token, err := credential.ParseToken("at hand", "opaque")
	check(t, err)
	set := &credential.Set{Trust: f.pki.trust(t), Token: token, AnyToken: credential.HostPatterns([]string{"127.0.0.1"})}
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, StateDir: t.TempDir()})
	defer b.Close()
	if pong, err := b.Ping(t.Context(), f.url()); err != nil || pong.LetIn || pong.Identity != "" {
		t.Errorf("%+v, %v", pong, err)
	}
}

// A host that another authority speaks for than at the first contact gets nothing.
func TestChangedHost(t *testing.T) {
	f := newFake(t, nil)
	set, err := credential.Discover(credential.Env{UID: os.Getuid()}, f.pki.user)
	check(t, err)
	dir := t.TempDir()
	submit := func() error {
		b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, StateDir: dir})
		defer b.Close()
		return b.Submit(t.Context(), at(f.url(), shell("1", "exit 0")), nil)[0].Err
	}
	check(t, submit())
	notes, _ := filepath.Glob(filepath.Join(dir, "arc-hosts", "*"))
	if len(notes) != 1 {
		t.Fatalf("notes: %v", notes)
	}
	check(t, os.WriteFile(notes[0], []byte(`{"host":"x","authority":"/CN=Another"}`), 0o600))
	seen := f.count("")
	err = submit()
	if p, ok := errors.AsType[*credential.Finding](err); !ok || p.ID != "server.changed" || f.count("") != seen {
		t.Error(err)
	}
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, StateDir: dir})
	defer b.Close()
	pong, err := b.Ping(t.Context(), f.url()) // nor is it up, and lets nobody in
	if p, ok := errors.AsType[*credential.Finding](err); !ok || p.ID != "server.changed" || f.count("") != seen {
		t.Errorf("ping: %+v, %v", pong, err)
	}
}

// dripping is a connection that sends a byte at a time once it is told to.
type dripping struct {
	net.Conn
	now *atomic.Bool
}

func (d dripping) Write(p []byte) (int, error) {
	for i := range p {
		if !d.now.Load() {
			n, err := d.Conn.Write(p[i:])
			return i + n, err
		}
		if n, err := d.Conn.Write(p[i : i+1]); n == 0 {
			return i, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return len(p), nil
}

type drippingListener struct {
	net.Listener
	now *atomic.Bool
}

func (l drippingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return dripping{conn, l.now}, err
}

// drip answers a byte at a time, without end.
func drip(w http.ResponseWriter, head string) {
	_, err := io.WriteString(w, head)
	for err == nil {
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
		_, err = io.WriteString(w, " ")
	}
}

// An answer that comes a byte at a time never stalls; it is given up all the same, whichever it is, and
// whether its text or what carries that drips.
func TestAnswersThatDrip(t *testing.T) {
	type asking func(ctx context.Context, b *Backend, c *client) error
	look := func(ctx context.Context, b *Backend, c *client) error {
		_, err := b.Peek(ctx, c.handle("job1"), "o", 0, io.Discard)
		return err
	}
	blank := func(w http.ResponseWriter, _ *atomic.Bool) { drip(w, "") }
	for name, c := range map[string]struct {
		ends string
		how  func(w http.ResponseWriter, carrier *atomic.Bool)
		ask  asking
	}{
		"list": {"/jobs", func(w http.ResponseWriter, _ *atomic.Bool) { drip(w, "<jobs>") }, func(ctx context.Context, b *Backend, c *client) error {
			return b.Status(ctx, []plugins.Handle{c.handle("job1")})[0].Err
		}},
		"file": {"/session/o", blank, func(ctx context.Context, b *Backend, c *client) error {
			return b.Fetch(ctx, []plugins.FetchRequest{{Handle: c.handle("job1"), Dir: t.TempDir()}}, nil)[0].Err
		}},
		"look":    {"/session/o", blank, look},
		"refusal": {"/session/o", func(w http.ResponseWriter, _ *atomic.Bool) { w.WriteHeader(500); drip(w, "no") }, look},
		"carrier": {"/session/o", func(w http.ResponseWriter, carrier *atomic.Bool) {
			w.(http.Flusher).Flush()
			carrier.Store(true)
			_, _ = w.Write(make([]byte, 10_000))
		}, look},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var carrier atomic.Bool
			f := newUnstartedFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
				switch {
				case strings.HasSuffix(r.URL.Path, c.ends):
					c.how(w, &carrier)
				case strings.HasSuffix(r.URL.Path, "/session"):
					fmt.Fprint(w, `<list><file size="1000000">o</file></list>`)
				default:
					return false
				}
				return true
			})
			f.Listener = drippingListener{f.Listener, &carrier}
			f.StartTLS()
			defer f.CloseClientConnections()
			b := f.backend(t)
			b.o.Timeout = 2 * time.Second
			cl, err := b.client(t.Context(), "x", f.url(), "")
			check(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			for range 3 { // a busy machine may not even begin to answer in time
				if err = c.ask(ctx, b, cl); err == nil || name == "refusal" || errors.Is(err, plugins.ErrSlow) {
					break
				}
			}
			if ctx.Err() != nil || err == nil || name != "refusal" && !errors.Is(err, plugins.ErrSlow) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Records of jobs that do not come are waited for once, not once for every job.
func TestRecordsThatDoNotCome(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/jobs") && r.Method == http.MethodGet:
			fmt.Fprint(w, "<jobs>")
			for i := range 200 {
				fmt.Fprintf(w, "<job><id>job%d</id><state>FINISHED</state></job>", i)
			}
			fmt.Fprint(w, "</jobs>")
		case strings.HasSuffix(r.URL.Path, "/jobs"):
			echo(w, body, "<status-code>200</status-code>")
		default:
			<-r.Context().Done()
		}
		return true
	})
	b := f.backend(t)
	b.o.Timeout = time.Second
	c, err := b.client(t.Context(), "x", f.url(), "")
	check(t, err)
	hs := make([]plugins.Handle, 200)
	for i := range hs {
		hs[i] = c.handle(fmt.Sprint("job", i))
	}
	start := time.Now()
	if st := b.Status(t.Context(), hs); st[0].Err == nil || st[199].Err == nil || f.count("/diagnose/") > 20 {
		t.Errorf("%v after %v, %d records asked for", st[0].Err, time.Since(start), f.count("/diagnose/"))
	}
}

// Descriptions that a CE says it was sent are read to a bound each, and to one for all of them together: who has
// many long ones keeps back his own alone.
func TestEndlessDescriptions(t *testing.T) {
	var poured atomic.Int64
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		const text = `<ActivityDescription xmlns="http://www.eu-emi.eu/es/2010/12/adl"><Application><Executable><Path>/bin/true</Path></Executable></Application>`
		job, ok := strings.CutSuffix(r.URL.Path, "/diagnose/description")
		switch {
		case !ok:
			return false
		case strings.HasSuffix(job, "/endless"):
			for b := []byte(strings.Repeat(" ", 64<<10)); poured.Load() < 60<<20; poured.Add(64 << 10) {
				if _, err := w.Write(b); err != nil {
					return true
				}
			}
		case strings.HasSuffix(job, "/small"):
			io.WriteString(w, text+"</ActivityDescription>")
		default:
			io.WriteString(w, text+strings.Repeat(" ", 900<<10)+"</ActivityDescription>")
		}
		return true
	})
	described := func(ids ...string) (n int) {
		t.Helper()
		hs := make([]plugins.Handle, len(ids))
		for i, id := range ids {
			hs[i] = plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: f.url(), ID: id}
		}
		jobs, err := f.backend(t).Describe(t.Context(), hs)
		if err != nil {
			t.Error(err)
		}
		for _, job := range jobs {
			if job != nil {
				n++
			}
		}
		return n
	}
	if n := described("small", "long", "small"); n != 3 {
		t.Errorf("of three honest jobs %d are described", n)
	}
	if n := described("endless"); n != 0 || poured.Load() > 16<<20 {
		t.Errorf("%d described, %d bytes taken", n, poured.Load())
	}
	if n := described(strings.Split(strings.Repeat("long ", 59)+"long", " ")...); n == 0 || n > 20 {
		t.Errorf("of 60 long descriptions %d are read", n)
	}
}
