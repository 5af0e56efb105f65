package tree

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// against is the back-end of a user against a desk that answers as told, by its endpoint.
func against(t *testing.T, answer http.HandlerFunc) (*backend, string) {
	t.Helper()
	ca, dir := testbed.NewCA(t, "CA", time.Now(), nil), t.TempDir()
	ca.Install(dir, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=CA")
	id := ca.Issue("alice", nil)
	cert, key := filepath.Join(dir, "alice.pem"), filepath.Join(dir, "alice.key")
	testbed.WriteFile(t, cert, testbed.PEM(id.Cert), 0o644)
	testbed.WriteFile(t, key, testbed.KeyPEM(t, id.Key), 0o600)
	s := httptest.NewUnstartedServer(answer)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	b, err := Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) {
		return credential.Discover(credential.Env{Getenv: func(string) string { return "" }, UID: os.Getuid(), Now: time.Now},
			credential.Options{Cert: cert, Key: key, CertDir: dir, NoToken: true})
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.(*backend).Close() })
	return b.(*backend), strings.Replace(s.URL, "https", Scheme, 1)
}

func request(t *testing.T, endpoint, id, text string) plugins.Request {
	t.Helper()
	job, err := jdl.LoadJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return plugins.Request{ID: id, Job: job, Endpoint: glue.Endpoint{URL: endpoint, Interface: Interface}}
}

// again is a request of a job that comes back.
func again(q plugins.Request) plugins.Request {
	q.For = "j1"
	return q
}

// A job is handed in with what its description asks of one system, and is known by our id from then on.
func TestWhatIsHandedIn(t *testing.T) {
	said := ""
	b, at := against(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		said = r.URL.Path + " " + string(text)
		io.WriteString(w, `{"jobs":[{"key":"j1"},{"key":"j2","error":"no room"},{"key":"other"}]}`)
	})
	got := b.Submit(t.Context(), []plugins.Request{
		request(t, at, "j1", `[Executable = "x"; CPUNumber = 4; Memory = 100; WallTime = 90; Priority = 7.9; Requirements = Member("B", other.GlueHostApplicationSoftwareRunTimeEnvironment) && Member("A", other.GlueHostApplicationSoftwareRunTimeEnvironment);]`),
		again(request(t, at, "j2", `[Executable = "x";]`)), request(t, at, "j3", `[Executable = "x"; RunTimeEnvironment = {"ROOT == 6.32", "C"};]`),
		request(t, at, "j4", `[Executable = "x"; RunTimeEnvironment = "ROOT >= 6.30";]`)}, nil)
	want := `/v1/jobs {"jobs":[{"key":"j1","need":{"cpus":4,"memory":400,"wall":90,"tags":"A,B"},"priority":7},{"key":"j2","need":{"cpus":1},"for":"j1"},{"key":"j3","need":{"cpus":1,"tags":"C,ROOT-6.32"}}]}`
	if said != want {
		t.Errorf("said %s\nwant %s", said, want)
	}
	if h := got[0].Handle; got[0].Err != nil || h != (plugins.Handle{Interface: Interface, Endpoint: at, ID: "j1", Owner: "/DC=org/CN=alice"}) {
		t.Errorf("%+v", got[0])
	}
	if kind(got[1].Err) != plugins.Refused || kind(got[2].Err) != plugins.Uncertain {
		t.Errorf("refused: %v, not answered: %v", got[1].Err, got[2].Err)
	}
	if err := got[3].Err; kind(err) != plugins.Refused || !strings.Contains(err.Error(), "name the tag, as ROOT-6.30") {
		t.Errorf("versions: %v", err)
	}
}

func kind(err error) plugins.Kind {
	if e, ok := err.(*plugins.Error); ok {
		return e.Kind
	}
	return 0
}

// Whatever a desk says: only jobs that were asked about are told of, only "claimed" is a place, states that nobody knows are none, and what is
// another user's is not asked for.
func TestStrangeAnswers(t *testing.T) {
	state, asked := "", 0
	b, at := against(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		json.NewEncoder(w).Encode(map[string]any{"jobs": []any{map[string]any{"key": "j", "state": state, "system": "one\x1b[2J"}, map[string]any{"key": "k", "state": "claimed", "system": "two"}}})
	})
	h := plugins.Handle{Interface: Interface, Endpoint: at, ID: "j", Owner: "/DC=org/CN=alice"}
	for said, want := range map[string]plugins.State{"waits": plugins.Queued, "away": plugins.Queued, "assigned": plugins.Queued, "claimed": plugins.Queued, "ended": plugins.Cancelled,
		"gone": plugins.Failed, "": plugins.Unknown, "running": plugins.Unknown} {
		state = said
		st := b.Status(t.Context(), []plugins.Handle{h})[0]
		if st.State != want || (want == plugins.Unknown) != (st.Err != nil) || strings.Contains(st.Native, "\x1b") {
			t.Errorf("%q: %s %q %v", said, st.State, st.Native, st.Err)
		}
		claim := b.Claim(t.Context(), []plugins.Handle{h})[0]
		if (claim.System != "") != (said == "claimed") || claim.Err != nil {
			t.Errorf("%q is taken for a place: %+v", said, claim)
		}
	}
	found, err := b.Find(t.Context(), glue.Endpoint{URL: at, Interface: Interface}, []string{"j", "x"})
	if err != nil || len(found) != 1 || found["j"] != h {
		t.Errorf("found %v, %v", found, err)
	}
	if st := b.Status(t.Context(), []plugins.Handle{{Interface: Interface, Endpoint: at, ID: "x"}})[0]; st.State != plugins.Lost {
		t.Errorf("a job that is not there: %+v", st)
	}
	before := asked
	h.Owner = "/DC=org/CN=bob"
	if st, claim, no := b.Status(t.Context(), []plugins.Handle{h})[0], b.Claim(t.Context(), []plugins.Handle{h})[0], b.Cancel(t.Context(), []plugins.Handle{h})[0]; asked != before || kind(st.Err) != plugins.Credential || kind(claim.Err) != plugins.Credential || kind(no) != plugins.Credential {
		t.Errorf("of another user: %v, %v, %v after %d questions", st.Err, claim.Err, no, asked-before)
	}
}

// What went wrong is told apart by whether the request can have arrived, and a claim that was not answered is asked for again.
func TestTroubleWithADesk(t *testing.T) {
	for name, c := range map[string]struct {
		answer        http.HandlerFunc
		submit, claim plugins.Kind
	}{
		"not let in": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) }, plugins.Credential, plugins.Credential},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "400 jobs too many", http.StatusRequestEntityTooLarge)
		}, plugins.Refused, plugins.Refused},
		"bad gateway": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "upstream", http.StatusBadGateway) }, plugins.Uncertain, plugins.Unavailable},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Close()
		}, plugins.Uncertain, plugins.Unavailable},
		"no document": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, plugins.Uncertain, plugins.Unavailable},
		"too long":    {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", maxDocument+1)) }, plugins.Uncertain, plugins.Unavailable},
		"many values": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"jobs":[{"key":"j"}`+strings.Repeat(",{}", maxDocument/3-10)+"]}")
		}, plugins.Uncertain, plugins.Unavailable},
	} {
		b, at := against(t, c.answer)
		r := b.Submit(t.Context(), []plugins.Request{request(t, at, "j", `[Executable = "x";]`)}, nil)[0]
		claim := b.Claim(t.Context(), []plugins.Handle{{Interface: Interface, Endpoint: at, ID: "j"}})[0]
		if kind(r.Err) != c.submit || kind(claim.Err) != c.claim {
			t.Errorf("%s: submit %v, claim %v", name, r.Err, claim.Err)
		}
	}
	b, _ := against(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := b.Find(t.Context(), glue.Endpoint{URL: "tree://" + l.Addr().String()}, []string{"j"}); kind(err) != plugins.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
}

// News are asked for from the mark on that was told last; a desk that has none to give, as an older one, and one that answers
// something else, is an error.
func TestNewsOfADesk(t *testing.T) {
	asked, code, said := "", http.StatusOK, `{"mark":7,"keys":["j","k"]}`
	b, at := against(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.String()
		w.WriteHeader(code)
		io.WriteString(w, said)
	})
	ids, mark, err := b.News(t.Context(), at, "")
	if fmt.Sprintf("%v %s %v", ids, mark, err) != "[j k] 7 <nil>" || asked != "GET /v1/jobs/news?since=0" {
		t.Errorf("%s: %v %v %v", asked, ids, mark, err)
	}
	if _, _, err := b.News(t.Context(), at, mark); err != nil || asked != "GET /v1/jobs/news?since=7" {
		t.Errorf("%s: %v", asked, err)
	}
	said = "{"
	if ids, _, err := b.News(t.Context(), at, mark); kind(err) != plugins.Unavailable || len(ids) > 0 {
		t.Errorf("of no document: %v %v", ids, err)
	}
	code, said = http.StatusNotFound, "no such place"
	if _, _, err := b.News(t.Context(), at, mark); kind(err) != plugins.Refused {
		t.Errorf("of an older desk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.News(ctx, at, mark); err == nil {
		t.Error("no error when nobody waits any more")
	}
}

// An address that is none of a desk's is refused, and a password in it is not shown.
func TestAddresses(t *testing.T) {
	b, _ := against(t, nil)
	for raw, want := range map[string]string{"tree://ce.example.org:7701": "tree://ce.example.org:7701", "tree://ce.example.org/": "tree://ce.example.org",
		"tree:": "", "tree:///x": "", "tree://ce/x": "", "tree://ce?a=b": "", "tree://ce#a": "", "https://ce": "", "tree://me:secret@ce": ""} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Source(u)
		if want == "" && (err == nil || strings.Contains(err.Error(), "secret")) || want != "" && (err != nil || s.Name() != want) {
			t.Errorf("%s: %v", raw, err)
		}
		if st := b.Status(t.Context(), []plugins.Handle{{Endpoint: raw, ID: "x"}})[0]; want == "" && (st.Err == nil || strings.Contains(fmt.Sprint(st.Err), "secret")) {
			t.Errorf("%s: status: %v", raw, st.Err)
		}
	}
}
