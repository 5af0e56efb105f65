package httpfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/readahead"
)

type origin struct {
	data  atomic.Pointer[[]byte]
	tag   atomic.Value
	gets  atomic.Int64
	delay time.Duration
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/data/a.bin" {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodGet {
		o.gets.Add(1)
		time.Sleep(o.delay)
	}
	w.Header().Set("ETag", o.tag.Load().(string))
	http.ServeContent(w, r, "a.bin", time.Time{}, bytes.NewReader(*o.data.Load()))
}

func (o *origin) set(tag string, size int, fill byte) {
	data := bytes.Repeat([]byte{fill, fill + 1, fill + 2}, size/3)
	o.data.Store(&data)
	o.tag.Store(tag)
}

func setup(t *testing.T, o *origin) (cache *httptest.Server, file string) {
	t.Helper()
	source := httptest.NewServer(o)
	t.Cleanup(source.Close)
	c, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000, Quota: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := httptest.NewServer(&Server{Cache: c, Client: source.Client(), Origins: []string{source.URL + "/data/"}, Token: "t0", Wait: time.Second})
	t.Cleanup(s.Close)
	return s, source.URL + "/data/a.bin"
}

func get(t *testing.T, server, file, token, ranges string) (int, []byte) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodGet, server+"/file?url="+url.QueryEscape(file), nil)
	req.Header.Set("Authorization", "Bearer "+token)
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, body
}

func TestSharedBlocks(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 30_000, 1)
	s, file := setup(t, o)
	for range 5 {
		if code, body := get(t, s.URL, file, "t0", ""); code != 200 || !bytes.Equal(body, *o.data.Load()) {
			t.Fatalf("status %d, %d bytes", code, len(body))
		}
	}
	if code, body := get(t, s.URL, file, "t0", "bytes=999-2001"); code != 206 || !bytes.Equal(body, (*o.data.Load())[999:2002]) {
		t.Fatalf("range: status %d, %d bytes", code, len(body))
	}
	if n := o.gets.Load(); n != 30 {
		t.Errorf("%d requests at the origin for 30 portions", n)
	}
	o.set(`"v2"`, 30_000, 9)
	if _, body := get(t, s.URL, file, "t0", ""); !bytes.Equal(body, *o.data.Load()) {
		t.Error("the new version of the file is mixed with the old one")
	}
}

func TestServerRefuses(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 3000, 1)
	s, file := setup(t, o)
	for what, c := range map[string]struct {
		token, url string
		want       int
	}{
		"no token":     {"", file, 401},
		"other origin": {"t0", "http://127.0.0.1:1/data/a.bin", 403},
		"way out":      {"t0", file[:len(file)-5] + "../secret", 403},
		"no such file": {"t0", file + "x", 404},
		"no address":   {"t0", "", 403},
	} {
		if code, _ := get(t, s.URL, c.url, c.token, ""); code != c.want {
			t.Errorf("%s: status %d, want %d", what, code, c.want)
		}
	}
}

func TestChangedFileIsNotMixed(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 3000, 1)
	source := httptest.NewServer(o)
	defer source.Close()
	f, err := Open(context.Background(), source.Client(), source.URL+"/data/a.bin", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	o.set(`"v2"`, 3000, 7)
	var changed *ChangedError
	if _, err := f.ReadAt(make([]byte, 10), 0); !errors.As(err, &changed) {
		t.Errorf("read of a changed file: %v", err)
	}
}

// A file that changes between two looks at its version is served as it is now, and an
// origin that says it serves ranges and then does not is told by a status.
func TestChangesBetweenLooks(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 30_000, 1)
	whole := false
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if whole {
			r.Header.Del("Range")
		}
		o.ServeHTTP(w, r)
	}))
	t.Cleanup(source.Close)
	c, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000, Quota: 100_000, Ahead: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := httptest.NewServer(&Server{Cache: c, Client: source.Client(), Origins: []string{source.URL + "/data/"}, Wait: time.Second, Recheck: time.Hour})
	t.Cleanup(s.Close)
	file := source.URL + "/data/a.bin"
	if code, _ := get(t, s.URL, file, "", "bytes=0-99"); code != 206 {
		t.Fatal(code)
	}
	o.set(`"v2"`, 30_000, 9)
	if code, body := get(t, s.URL, file, "", "bytes=5000-5999"); code != 206 || !bytes.Equal(body, (*o.data.Load())[5000:6000]) {
		t.Errorf("a changed file: status %d, %d bytes", code, len(body))
	}
	whole = true
	if code, body := get(t, s.URL, file, "", "bytes=9000-9999"); code != http.StatusBadGateway || !strings.Contains(string(body), "200 OK") {
		t.Errorf("ranges that are not served: status %d, %s", code, body)
	}
}

// TestDoorsAndPools: a door that sends requests on to a pool under an origin is followed, ranges and all, and the
// pool's content is what is kept; one that sends them elsewhere, or round and round, is not.
func TestDoorsAndPools(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 30_000, 1)
	pool := httptest.NewServer(o)
	t.Cleanup(pool.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent elsewhere") }))
	t.Cleanup(elsewhere.Close)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/door/a.bin": pool.URL + "/data/a.bin?uuid=5", "/door/out": elsewhere.URL + "/data/a.bin", "/door/up": "/secret", "/door/round": "/door/round"}[r.URL.Path]
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(door.Close)
	c, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000, Quota: 100_000, Ahead: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	files := &Server{Cache: c, Origins: []string{door.URL + "/door/", pool.URL + "/data/"}, Wait: 10 * time.Second, Recheck: time.Hour}
	files.Client = &http.Client{CheckRedirect: files.Redirect}
	s := httptest.NewServer(files)
	t.Cleanup(s.Close)
	for range 2 {
		if code, body := get(t, s.URL, door.URL+"/door/a.bin", "", "bytes=5000-5999"); code != 206 || !bytes.Equal(body, (*o.data.Load())[5000:6000]) {
			t.Errorf("through a door: status %d, %d bytes, %.60s", code, len(body), body)
		}
	}
	if n := o.gets.Load(); n != 1 {
		t.Errorf("%d requests at the pool for one portion read twice", n)
	}
	for _, name := range []string{"out", "up", "round"} {
		if code, body := get(t, s.URL, door.URL+"/door/"+name, "", "bytes=0-9"); code != http.StatusBadGateway || !strings.Contains(string(body), "under no origin") {
			t.Errorf("%s: status %d, %s", name, code, body)
		}
	}
}

// A file that turns out to be another one in the middle of an answer, whose beginning was held, ends that answer; the
// next one has the file as it is now, and does not wait until its version is asked for again.
func TestChangeInTheMiddle(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 30_000, 1)
	source := httptest.NewServer(o)
	t.Cleanup(source.Close)
	c, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000, Quota: 100_000, Ahead: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := httptest.NewServer(&Server{Cache: c, Client: source.Client(), Origins: []string{source.URL + "/data/"}, Wait: time.Second, Recheck: time.Hour})
	t.Cleanup(s.Close)
	file := source.URL + "/data/a.bin"
	if code, _ := get(t, s.URL, file, "", "bytes=0-2999"); code != 206 {
		t.Fatal(code)
	}
	o.set(`"v2"`, 30_000, 9)
	if _, body := get(t, s.URL, file, "", ""); len(body) == 30_000 {
		t.Error("the two are mixed")
	}
	if code, body := get(t, s.URL, file, "", ""); code != 200 || !bytes.Equal(body, *o.data.Load()) {
		t.Errorf("asked once more: status %d, %d bytes", code, len(body))
	}
}

// A file that a server names no version of is not taken for another one of its size.
func TestFilesWithoutVersion(t *testing.T) {
	o := &origin{}
	for _, tag := range []string{"", `W/"weak"`} {
		s, file := setup(t, o)
		for _, fill := range []byte{1, 50} {
			o.set(tag, 3000, fill)
			if status, body := get(t, s.URL, file, "t0", ""); status != http.StatusOK || !bytes.Equal(body, *o.data.Load()) {
				t.Errorf("ETag %q, filled with %d: %d, begins with %v", tag, fill, status, body[:min(3, len(body))])
			}
		}
	}
}

// Requests that cost much and bring nothing are refused: ranges without end,
// addresses without end, bodies that never come.
func TestHostileReaders(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 30_000, 1)
	s, file := setup(t, o)
	ranges := "bytes=0-0"
	for i := range 5000 {
		ranges += fmt.Sprintf(",%d-%d", i%30_000, i%30_000)
	}
	if code, _ := get(t, s.URL, file, "t0", ranges); code != http.StatusRequestedRangeNotSatisfiable || o.gets.Load() > 0 {
		t.Errorf("5000 ranges: %d, %d requests to the origin", code, o.gets.Load())
	}
	if code, body := get(t, s.URL, file, "t0", "bytes=0-1,5-6"); code != http.StatusPartialContent || !bytes.Contains(body, []byte("0-1/30000")) {
		t.Errorf("two ranges: %d %q", code, body)
	}
	if code, _ := get(t, s.URL, file+"?"+strings.Repeat("a", 10_000), "t0", ""); code != http.StatusForbidden {
		t.Errorf("a long address: %d", code)
	}
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET /stats HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0\r\nContent-Length: 100\r\n\r\n")
	if text, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(text, []byte("HTTP/1.1 400")) {
		t.Errorf("a body that never comes: %q %v", text, err)
	}
}

// What a server calls a version is bounded; a long one names nothing.
func TestVersionsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 2000)
	for tag, want := range map[string]stamp{`"v"`: {`"v"`, "then"}, `W/"v"`: {"", "then"}, long: {"", "then"}, "": {"", "then"}} {
		if got := stampOf(&http.Response{Header: http.Header{"Etag": {tag}, "Last-Modified": {"then"}}}); got != want {
			t.Errorf("%.20q: %.20q", tag, got)
		}
	}
	if got := stampOf(&http.Response{Header: http.Header{"Last-Modified": {long}}}); got != (stamp{}) {
		t.Errorf("%.20q", got)
	}
}

// shifty changes its file under one ETag, or without one, and says when, to the second.
type shifty struct {
	tag      string
	fill     byte
	modified time.Time
	packed   bool
}

func (o *shifty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.tag != "" {
		w.Header().Set("ETag", o.tag)
	}
	if o.packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	http.ServeContent(w, r, "a.bin", o.modified, bytes.NewReader(bytes.Repeat([]byte{o.fill}, 3000)))
}

// Nothing of an older content is delivered where the time of the last change tells it from the newer one: not
// under one ETag, and not where both are of one second, as a file that changed a moment ago may change again.
func TestTimeOfTheLastChange(t *testing.T) {
	now := time.Now()
	for what, c := range map[string]struct {
		tag           string
		first, second time.Time
	}{
		"one ETag":          {`"same"`, now.Add(-time.Hour), now.Add(-time.Minute)},
		"within one second": {"", now, now},
	} {
		o := &shifty{tag: c.tag, fill: 1, modified: c.first}
		source := httptest.NewServer(o)
		t.Cleanup(source.Close)
		cache, err := readahead.Open(t.TempDir(), readahead.Options{Portion: 1000, Quota: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cache.Close() })
		s := httptest.NewServer(&Server{Cache: cache, Client: source.Client(), Origins: []string{source.URL + "/data/"}, Wait: time.Second})
		t.Cleanup(s.Close)
		for _, fill := range []byte{1, 2} {
			if fill == 2 {
				o.fill, o.modified = fill, c.second
			}
			if code, body := get(t, s.URL, source.URL+"/data/a.bin", "", "bytes=100-2900"); code != 206 || bytes.ContainsFunc(body, func(r rune) bool { return r != rune(fill) }) {
				t.Errorf("%s: status %d, %v where all is %d", what, code, body[:min(3, len(body))], fill)
			}
		}
	}
}

// Who is asked for a part of a file and sends it without the time of its last change names it by its ETag.
func TestPartsWithoutTime(t *testing.T) {
	o := &shifty{tag: `"one"`, fill: 1, modified: time.Now().Add(-time.Hour)}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			o.modified = time.Time{}
		}
		o.ServeHTTP(w, r)
	}))
	defer source.Close()
	f, err := Open(t.Context(), source.Client(), source.URL, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.ReadAt(make([]byte, 10), 5); n != 10 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A file that comes packed is refused: what was asked for are the bytes of the file.
func TestPackedFilesAreRefused(t *testing.T) {
	o := &shifty{tag: `"one"`, fill: 1, packed: true}
	source := httptest.NewServer(o)
	defer source.Close()
	if _, err := Open(t.Context(), source.Client(), source.URL, time.Second); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Errorf("packed: %v", err)
	}
	o.packed = false
	f, err := Open(t.Context(), source.Client(), source.URL, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	o.packed = true
	if n, err := f.ReadAt(make([]byte, 10), 0); n > 0 || err == nil {
		t.Errorf("packed later: %d bytes, %v", n, err)
	}
}

// Without a token only who names the cache by its address is answered: a name may be one
// that a page in a user's browser has let point here.
func TestNamesOfOthers(t *testing.T) {
	o := &origin{}
	o.set(`"v1"`, 3000, 1)
	s, file := setup(t, o)
	server := s.Config.Handler.(*Server)
	for _, c := range []struct {
		token, host string
		want        int
	}{
		{"", "127.0.0.1:8470", 200}, {"", "localhost:8470", 200}, {"", "[::1]:8470", 200}, {"", "127.0.0.1", 200}, {"", "[::1]", 200},
		{"", "evil.example.org", 421}, {"", "evil.example.org:8470", 421}, {"", "localhost.evil.example.org", 421}, {"", "127.0.0.1.evil.example.org", 421}, {"", "", 421},
		{"t0", "cache.example.org:8470", 200},
	} {
		server.Token = c.token
		req := httptest.NewRequest(http.MethodGet, "/file?url="+url.QueryEscape(file), nil)
		req.Host = c.host
		req.Header.Set("Authorization", "Bearer "+c.token)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("token %q, host %q: %d, want %d", c.token, c.host, w.Code, c.want)
		}
	}
}
