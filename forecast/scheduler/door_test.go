package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
	"gridbroker/testdata/testbed"
)

// front is a replica's API over TLS, with an authority of its own for hosts and
// users. Nobody leads: what is asked waits as a message.
type front struct {
	t      testing.TB
	ca     *testbed.CA
	trust  *credential.Trust
	store  *Store
	s      *Scheduler
	api    *API
	server *httptest.Server
	now    time.Time
}

func newFront(t testing.TB, change func(*Config, *API)) *front {
	t.Helper()
	return newFrontOn(t, sqliteDSN(t), change)
}

// newFrontOn is a front over a database.
func newFrontOn(t testing.TB, dsn string, change func(*Config, *API)) *front {
	t.Helper()
	f := &front{t: t, now: time.Now(), ca: testbed.NewCA(t, "Test CA", time.Now(), nil)}
	dir := t.TempDir()
	f.ca.Install(dir, credential.NameHash(f.ca.Cert.RawSubject), "/DC=org/CN=Test CA")
	var err error
	if f.trust, err = credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA}); err != nil {
		t.Fatal(err)
	}
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if f.store, err = OpenStore(dsn, seal); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	if _, err := f.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	conf := Config{Name: "front", Clusters: map[string]ClusterConfig{"c0": {Agents: []string{"agent0", "/DC=org/CN=agent host"}}, "c1": {Agents: []string{"agent1"}}}}
	log := slog.New(slog.DiscardHandler)
	f.api = &API{Door: &Door{Trust: func() *credential.Trust { return f.trust }, Clusters: conf.Clusters, Admins: []string{"/DC=org/CN=Admin"}}, Log: log, Rate: 10_000, Metrics: []string{"agent0"}}
	for _, who := range []string{"alice", "bob", "agent0", "agent1"} {
		f.api.Door.Tokens = append(f.api.Door.Tokens, TokenUser{SHA256: HashToken(who), Subject: who})
	}
	f.api.Door.Tokens = append(f.api.Door.Tokens, TokenUser{SHA256: HashToken("root"), Subject: "root", Admin: true})
	if change != nil {
		change(&conf, f.api)
	}
	f.s = New(conf, f.store, nil, func() time.Time { return f.now }, log)
	f.api.S = f.s
	f.server = httptest.NewUnstartedServer(f.api.Handler())
	own := f.ca.Server(nil)
	f.server.TLS = credential.ServerConfig(func() *tls.Certificate { return &own })
	f.server.TLS.Certificates = []tls.Certificate{own} // else httptest shows one of its own
	f.server.StartTLS()
	t.Cleanup(f.server.Close)
	return f
}

// user makes a certificate with its key.
func (f *front) user(ca *testbed.CA, cn string) *credential.X509 {
	f.t.Helper()
	id := ca.Issue(cn, nil)
	x, err := credential.ParseX509(cn, append(testbed.PEM(id.Cert), testbed.KeyPEM(f.t, id.Key)...))
	if err != nil {
		f.t.Fatal(err)
	}
	return x
}

func (f *front) proxy(x *credential.X509, o credential.ProxyOptions) *credential.X509 {
	f.t.Helper()
	o.Key = "ecdsa"
	p, err := x.NewProxy(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// client shows a certificate or proxy; nil: none.
func (f *front) client(x *credential.X509) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: f.trust.GridConfig(x, "localhost"), DisableKeepAlives: true}}
}

// ask sends one request with a token ("": none), and reads the answer.
func (f *front) ask(c *http.Client, token, method, path string, body, out any) int {
	f.t.Helper()
	return ask(f.t.Context(), f.t, c, token, method, f.server.URL+path, body, out)
}

func ask(ctx context.Context, t testing.TB, c *http.Client, token, method, url string, body, out any) int {
	t.Helper()
	var text bytes.Buffer
	if raw, ok := body.([]byte); ok {
		text.Write(raw)
	} else if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, &text)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil && resp.StatusCode < 300 {
			t.Fatal(err)
		}
	} else {
		io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode
}

// newTLSServer serves with a certificate of its own, which its client trusts.
func newTLSServer(t testing.TB, h http.Handler) *httptest.Server {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	return s
}

// refused asks about jobs, which is refused, and returns what is said.
func (f *front) refused(c *http.Client, token, method string) string {
	f.t.Helper()
	return f.refusedWith(c, token, method, http.StatusUnauthorized)
}

// refusedWith is what somebody hears who is refused with a status.
func (f *front) refusedWith(c *http.Client, token, method string, status int) string {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.server.URL+"/v1/jobs", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		f.t.Errorf("%s is answered with %s, %v", method, resp.Status, err)
	}
	return string(text)
}

func (f *front) ping(c *http.Client, token string) Pong {
	var p Pong
	if code := f.ask(c, token, "GET", "/v1/ping", nil, &p); code != 200 {
		f.t.Errorf("ping: %d", code)
	}
	return p
}

// Certificates and proxies say who somebody is; what is expired, of another
// authority, or has no key behind it does not.
func TestDoorKnowsCertificates(t *testing.T) {
	f := newFront(t, nil)
	alice := f.user(f.ca, "Alice")
	other := testbed.NewCA(t, "Other CA", f.now, nil)
	hour := credential.ProxyOptions{Lifetime: time.Hour}
	expired := credential.ProxyOptions{Now: f.now.Add(-3 * time.Hour), Lifetime: time.Hour}
	for _, c := range []struct {
		name string
		x    *credential.X509
		want Pong
	}{
		{"nobody", nil, Pong{}},
		{"certificate", alice, Pong{Subject: "/DC=org/CN=Alice", LetIn: true}},
		{"proxy", f.proxy(alice, hour), Pong{Subject: "/DC=org/CN=Alice", LetIn: true}},
		{"proxy of a proxy", f.proxy(f.proxy(alice, hour), hour), Pong{Subject: "/DC=org/CN=Alice", LetIn: true}},
		{"expired proxy", f.proxy(alice, expired), Pong{}},
		{"another authority", f.user(other, "Alice"), Pong{}},
		{"whose one name is written as two", f.user(f.ca, "Ops/CN=Alice"), Pong{}},
		{"whose letters are written as bytes", f.user(f.ca, `J\xC3\xB6rg`), Pong{}},
		{"a host's service", f.user(f.ca, "host/ui.example.org"), Pong{Subject: "/DC=org/CN=host/ui.example.org", LetIn: true}},
		{"bytes", f.user(f.ca, "J\u00f6rg"), Pong{Subject: `/DC=org/CN=J\xC3\xB6rg`, LetIn: true}},
		{"administrator", f.user(f.ca, "Admin"), Pong{Subject: "/DC=org/CN=Admin", Admin: true, LetIn: true}},
		{"agent", f.user(f.ca, "agent host"), Pong{Subject: "/DC=org/CN=agent host", Sites: []string{"c0"}, LetIn: true}},
	} {
		got := f.ping(f.client(c.x), "")
		got.Interface, got.Versions = "", nil
		if told := strings.Contains(got.Said, "ran out at"); told != (c.name == "expired proxy") {
			t.Errorf("%s: it says %q", c.name, got.Said)
		}
		got.Said = ""
		if c.want.LetIn { // of a scheduler without agents
			c.want.Hinders = []string{"no replica leads: jobs are taken, and are booked and sent when one does; what runs goes on", "no cluster has been heard of: their agents are missing"}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for name, x := range map[string]*credential.X509{
		"user": f.proxy(alice, credential.ProxyOptions{Limited: true}), "administrator": f.proxy(f.proxy(f.user(f.ca, "Admin"), credential.ProxyOptions{Limited: true}), hour),
	} {
		if p := f.ping(f.client(x), ""); p.LetIn || p.Admin || !strings.Contains(p.Said, "is limited") {
			t.Errorf("a limited proxy of a %s: %+v", name, p)
		}
		if said := f.refused(f.client(x), "", "POST"); !strings.Contains(said, "is limited") {
			t.Errorf("with a limited proxy a %s hears %q", name, said)
		}
	}
	for _, method := range []string{"GET", "POST"} {
		resp := f.refused(f.client(f.proxy(alice, expired)), "", method)
		if !strings.Contains(resp, "the certificate or proxy that you showed ran out at ") {
			t.Errorf("with an expired proxy %s hears %q", method, resp)
		}
	}
}

// Tokens of issuers are verified with the issuer's keys, for this audience.
func TestDoorKnowsIssuers(t *testing.T) {
	var iss *testbed.Issuer
	asked := 0
	mux := http.NewServeMux()
	say := func(v func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			asked++
			json.NewEncoder(w).Encode(v())
		}
	}
	mux.HandleFunc("/.well-known/openid-configuration", say(func() any { return iss.Discovery() }))
	mux.HandleFunc("/jwks.json", say(func() any { return iss.Keys() }))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	forger, err := testbed.OpenIssuer(t.TempDir(), server.URL+"/")
	if err == nil {
		iss, err = testbed.OpenIssuer(t.TempDir(), server.URL+"/")
	}
	if err != nil {
		t.Fatal(err)
	}
	const dead = "http://127.0.0.1:1/"
	f := newFront(t, func(_ *Config, a *API) {
		a.Door.Issuers, a.Door.Audience = []string{iss.URL, dead}, "https://scheduler.example.org"
	})
	deadIss := *iss
	deadIss.URL = dead
	foreign := *iss
	foreign.URL = "https://login.example.org/"
	ours := map[string]any{"aud": "https://scheduler.example.org", "wlcg.groups": []string{"/cms/production", "/cms"}}
	for _, c := range []struct {
		name  string
		iss   *testbed.Issuer
		life  time.Duration
		extra map[string]any
		want  string
	}{
		{"good", iss, time.Hour, ours, iss.URL + "#carol"},
		{"expired", iss, -time.Minute, ours, ""},
		{"another audience", iss, time.Hour, map[string]any{"aud": "https://ce.example.org"}, ""},
		{"any audience", iss, time.Hour, nil, ""},
		{"expired, for another audience", iss, -time.Minute, nil, ""},
		{"another key", forger, time.Hour, ours, ""},
		{"another key, for another audience", forger, time.Hour, nil, ""},
		{"an issuer that is not configured", &foreign, time.Hour, ours, ""},
		{"an issuer that does not answer", &deadIss, time.Hour, ours, ""},
	} {
		token, err := c.iss.Token("carol", c.life, c.extra)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.ping(f.client(nil), token); got.Subject != c.want || got.LetIn != (c.want != "") {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
		if c.want != "" {
			continue
		}
		for _, method := range []string{"GET", "POST"} {
			status := http.StatusUnauthorized
			if c.iss == &deadIss {
				status = http.StatusServiceUnavailable
			}
			said := f.refusedWith(f.client(nil), token, method, status)
			if strings.Contains(said, dead+", whose token you showed, cannot be asked just now") != (c.iss == &deadIss) {
				t.Errorf("%s: %s hears %q", c.name, method, said)
			}
			if strings.Contains(said, "the token that you showed ran out at ") != strings.HasPrefix(c.name, "expired") {
				t.Errorf("%s: %s hears %q", c.name, method, said)
			}
			if strings.Contains(said, "get one for that (grid auth login --audience)") != (c.name == "another audience" || c.name == "any audience") {
				t.Errorf("%s: %s hears %q", c.name, method, said)
			}
		}
	}
	before := asked
	token, _ := iss.Token("carol", time.Hour, ours)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	p, err := f.api.Door.Who(r)
	if err != nil || p.VO != "cms" || p.FQANs[0] != "/cms/production" || p.Expires.Before(f.now) {
		t.Errorf("%+v, %v", p, err)
	}
	if asked != before {
		t.Errorf("the issuer was asked again for what is known: %d times", asked-before)
	}
}

// backend is the user's side, with a credential of his.
func (f *front) backend(x *credential.X509) *central.Backend {
	f.t.Helper()
	b, err := central.Open(plugins.Config{Now: func() time.Time { return f.now }, Credentials: func() (*credential.Set, error) {
		return &credential.Set{X509: x, Trust: f.trust}, nil
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { b.(*central.Backend).Close() })
	return b.(*central.Backend)
}

func (f *front) endpoint() glue.Endpoint {
	return glue.Endpoint{Interface: central.Interface, URL: strings.Replace(f.server.URL, "https://127.0.0.1", "grid://localhost", 1)}
}

// Who goes on for days shows the token that there is by then, and the scheduler notes until when it
// is good.
func TestNewerTokensAreShown(t *testing.T) {
	iss := testbed.ServeIssuer(t)
	f := newFront(t, func(_ *Config, a *API) { a.Door.Issuers, a.Door.Audience = []string{iss.URL}, "grid" })
	var token *credential.Token
	give := func(life time.Duration) {
		text, err := iss.Token("carol", life, map[string]any{"aud": []string{"grid", strings.Replace(f.endpoint().URL, "grid://", "https://", 1)}})
		if err == nil {
			token, err = credential.ParseToken("the test", text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := central.Open(plugins.Config{Now: func() time.Time { return f.now }, Credentials: func() (*credential.Set, error) {
		return &credential.Set{Token: token, Trust: f.trust}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.(*central.Backend).Close() })
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true";`))
	if err != nil {
		t.Fatal(err)
	}
	give(time.Minute)
	res := b.Submit(t.Context(), []plugins.Request{{ID: "k1", Job: job, Endpoint: f.endpoint()}}, nil)
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	until := func() int64 {
		var of authorities
		err := f.store.read(t.Context(), func(h handle) (err error) { of, err = h.wallet.expiries(t.Context()); return err })
		if a := of.last[iss.URL+"#carol"]; err == nil && a.lack == errUnshown {
			return a.until
		}
		t.Fatal(of, err)
		return 0
	}
	if got := until(); got != token.Expiry().Unix() {
		t.Errorf("noted until %d, the token is good until %d", got, token.Expiry().Unix())
	}
	give(time.Hour)
	f.now = f.now.Add(40 * time.Second)
	if errs := b.(plugins.Renewer).Renew(t.Context(), []plugins.Handle{res[0].Handle}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	if got := until(); got != token.Expiry().Unix() {
		t.Errorf("renewed: noted until %d, the token is good until %d", got, token.Expiry().Unix())
	}
}

// A submission leaves a proxy of its own with the scheduler, kept encrypted and
// good for its owner alone, and a renewal a longer one.
func TestDelegation(t *testing.T) {
	f := newFront(t, nil)
	alice := f.user(f.ca, "Alice")
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true";`))
	if err != nil {
		t.Fatal(err)
	}
	short := f.backend(f.proxy(alice, credential.ProxyOptions{Lifetime: time.Hour}))
	res := short.Submit(t.Context(), []plugins.Request{{ID: "k1", Job: job, Endpoint: f.endpoint()}}, nil)
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	const owner = "/DC=org/CN=Alice"
	first := f.delegated(owner)
	if left := first.NotAfter().Sub(f.now); left > time.Hour+time.Minute || left < 50*time.Minute {
		t.Errorf("the delegation lives for %v, the proxy for an hour", left)
	}
	if err := f.backend(f.proxy(alice, credential.ProxyOptions{Lifetime: 10 * time.Hour})).Renew(t.Context(), []plugins.Handle{res[0].Handle})[0]; err != nil {
		t.Fatal(err)
	}
	if left := f.delegated(owner).NotAfter().Sub(f.now); left < 9*time.Hour {
		t.Errorf("renewed, the delegation lives for %v", left)
	}
	var kept []byte
	if err := f.store.db.QueryRow("select body from credential").Scan(&kept); err != nil || bytes.Contains(kept, []byte("PRIVATE KEY")) || bytes.Contains(kept, []byte("CERTIFICATE")) {
		t.Errorf("what is kept can be read: %v", err)
	}
	if _, err := f.store.seal.Open("credential/somebody else", kept); err == nil {
		t.Error("what is kept of one opens as another's")
	}
	f.now = f.now.Add(11 * time.Hour)
	if _, err := f.credential(owner); err == nil || !strings.Contains(err.Error(), "run out") {
		t.Errorf("what has run out: %v", err)
	}
}

// credential is what is kept of a user's delegation.
func (f *front) credential(owner string) ([]byte, error) {
	return credentialOf(f.t, f.store, holder{owner, ""}, f.now)
}

// credentialOf is the credential that jobs go by.
func credentialOf(t testing.TB, s *Store, by holder, now time.Time) (body []byte, err error) {
	err = s.read(t.Context(), func(h handle) error {
		all, err := h.wallet.credentials(t.Context(), []string{by.owner})
		if err != nil {
			return err
		}
		a, _ := all.of(by, now.Unix())
		body, err = a.open(s.seal, now)
		return err
	})
	return body, err
}

// delegated is what the scheduler would act with.
func (f *front) delegated(owner string) *credential.X509 {
	f.t.Helper()
	text, err := f.credential(owner)
	if err != nil {
		f.t.Fatal(err)
	}
	x, err := credential.ParseX509("the delegation", text)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.trust.Verify(x); err != nil || x.Identity() != owner {
		f.t.Fatalf("%s, %v", x.Identity(), err)
	}
	return x
}

// Nobody takes the second step of another's delegation, or delegates another.
func TestDelegationIsOnesOwn(t *testing.T) {
	f := newFront(t, nil)
	alice, bob := f.user(f.ca, "Alice"), f.user(f.ca, "Bob")
	type step struct {
		ID  string `json:"id"`
		CSR string `json:"csr"`
	}
	begin := func(x *credential.X509) (s step) {
		if code := f.ask(f.client(x), "", "POST", "/v1/delegation", nil, &s); code != 200 {
			t.Fatal(code)
		}
		return s
	}
	sign := func(by *credential.X509, s step) string {
		chain, err := by.SignDelegation([]byte(s.CSR), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return string(chain)
	}
	ofAlice, ofBob := begin(alice), begin(bob)
	other := f.user(testbed.NewCA(t, "Other CA", f.now, nil), "Alice")
	for _, c := range []struct {
		name      string
		as        *credential.X509
		id, chain string
		want      int
	}{
		{"another's request", bob, ofAlice.ID, sign(bob, ofAlice), 422},
		{"another's proxy", bob, ofBob.ID, sign(alice, ofBob), 403},
		{"a proxy of another request", alice, ofAlice.ID, sign(alice, ofBob), 422},
		{"an authority that is not trusted", alice, ofAlice.ID, sign(other, ofAlice), 422},
		{"no request", alice, "AAAA", sign(alice, ofAlice), 422},
		{"no base64", alice, "not base64!", sign(alice, ofAlice), 422},
		{"no proxy", alice, ofAlice.ID, "hello", 422},
		{"nobody", nil, ofAlice.ID, sign(alice, ofAlice), 401},
		{"the right one", alice, ofAlice.ID, sign(alice, ofAlice), 204},
	} {
		if code := f.ask(f.client(c.as), "", "PUT", "/v1/delegation", map[string]string{"id": c.id, "chain": c.chain}, nil); code != c.want {
			t.Errorf("%s: %d, want %d", c.name, code, c.want)
		}
	}
	if text, err := f.credential("/DC=org/CN=Bob"); err != nil || text != nil {
		t.Errorf("Bob has delegated: %v", err)
	}
}

const sample = `[ Executable = "/bin/true"; ]`

// submit hands in one job.
func (f *front) submit(who, key, text string, files ...File) Taken {
	f.t.Helper()
	var out struct{ Jobs []Taken }
	body := map[string]any{"jobs": []Submission{{Key: key, JDL: text, Files: files}}}
	if code := f.ask(f.client(nil), who, "POST", "/v1/jobs", body, &out); code != 200 || len(out.Jobs) != 1 {
		f.t.Fatalf("submission: %d %v", code, out)
	}
	return out.Jobs[0]
}

// A user sees and changes his own jobs, a site's agent its site, an
// administrator all; of others' jobs nobody learns that they are there.
func TestRights(t *testing.T) {
	f := newFront(t, nil)
	id := f.submit("alice", "k", sample).ID
	job := func(form string) string { return strings.Replace(form, "ID", id, 1) }
	ids := map[string]any{"ids": []string{id}}
	slots := f.delta("c0", 1, nil)
	for _, c := range []struct {
		method, path string
		body         any
		want         map[string]int
	}{
		{"GET", job("/v1/jobs/ID"), nil, map[string]int{"": 401, "alice": 200, "bob": 404, "agent0": 404, "root": 200}},
		{"GET", job("/v1/jobs/ID/log"), nil, map[string]int{"": 401, "alice": 200, "bob": 404, "root": 200}},
		{"GET", job("/v1/jobs/ID/why"), nil, map[string]int{"": 401, "alice": 200, "bob": 404, "root": 200}},
		{"GET", job("/v1/jobs/ID/files/out.txt"), nil, map[string]int{"": 401, "alice": 404, "bob": 404}},
		{"PATCH", job("/v1/jobs/ID"), map[string]any{"priority": 2}, map[string]int{"": 401, "bob": 404, "alice": 204, "root": 204}},
		{"POST", "/v1/jobs", map[string]any{"jobs": []Submission{{Key: "x", JDL: sample}}}, map[string]int{"": 401}},
		{"GET", "/v1/jobs", nil, map[string]int{"": 401, "alice": 200}},
		{"GET", "/v1/clusters", nil, map[string]int{"": 401, "alice": 200}},
		{"GET", "/metrics", nil, map[string]int{"": 401, "alice": 403, "agent0": 200, "root": 200}},
		{"GET", "/v1/budget", nil, map[string]int{"": 401, "alice": 200}},
		{"PUT", "/v1/budgets", map[string]any{"user": "alice", "budget": 5}, map[string]int{"": 401, "alice": 403, "agent0": 403, "root": 204}},
		{"POST", "/v1/clusters/c0/slots", slots, map[string]int{"": 401, "alice": 403, "agent1": 403, "root": 403, "agent0": 200}},
		{"GET", "/v1/clusters/c0/slots", nil, map[string]int{"": 401, "alice": 403, "agent1": 403, "agent0": 200}},
		{"POST", "/v1/clusters/nowhere/slots", slots, map[string]int{"agent0": 404}},
		{"POST", "/v1/clusters/c0/drain", map[string]bool{"drain": true}, map[string]int{"": 401, "alice": 403, "agent1": 403, "agent0": 204, "root": 204}},
		{"POST", "/v1/clusters/nowhere/drain", map[string]bool{"drain": true}, map[string]int{"root": 404}},
		{"DELETE", job("/v1/jobs/ID"), nil, map[string]int{"": 401, "bob": 404}},
	} {
		for who, want := range c.want {
			if got := f.ask(f.client(nil), who, c.method, c.path, c.body, nil); got != want {
				t.Errorf("%s %s as %q: %d, want %d", c.method, c.path, who, got, want)
			}
		}
	}
	var out struct{ Jobs []View }
	for who, want := range map[string]int{"alice": 1, "bob": 0, "root": 1} {
		if f.ask(f.client(nil), who, "POST", "/v1/jobs/status", ids, &out); len(out.Jobs) != want {
			t.Errorf("%s sees %d", who, len(out.Jobs))
		}
	}
	for who, want := range map[string]int{"alice": 1, "bob": 0, "root": 1} {
		if f.ask(f.client(nil), who, "GET", "/v1/jobs?all=true", nil, &out); len(out.Jobs) != want {
			t.Errorf("%s lists %d", who, len(out.Jobs))
		}
	}
	var ended struct{ Jobs []Outcome }
	if f.ask(f.client(nil), "bob", "POST", "/v1/jobs/cancel", ids, &ended); len(ended.Jobs) != 1 || ended.Jobs[0].Error != ErrNoJob.Error() {
		t.Errorf("bob cancels: %+v", ended)
	}
	if list, err := f.s.Jobs(t.Context(), Person{Subject: "alice"}, []string{id}); err != nil || list[0].Cancel {
		t.Errorf("bob has cancelled it: %v", err)
	}
}

// What is sent twice is taken once, also side by side, and of two users the same
// key is two jobs.
func TestSubmissionsAreTakenOnce(t *testing.T) {
	f := newFront(t, nil)
	first := f.submit("alice", "k", sample)
	if again := f.submit("alice", "k", sample); again != first {
		t.Errorf("again: %+v, first: %+v", again, first)
	}
	if other := f.submit("bob", "k", sample); other.ID == first.ID || other.ID == "" {
		t.Errorf("bob's: %+v, alice's: %+v", other, first)
	}
	got := make(chan string)
	for range 8 {
		go func() {
			list, err := f.s.Submit(context.Background(), Person{Subject: "alice"}, []Submission{{Key: "both", JDL: sample}, {Key: "both", JDL: sample}})
			if err != nil || list[0].ID != list[1].ID {
				got <- fmt.Sprint(list, err)
				return
			}
			got <- list[0].ID
		}()
	}
	want := <-got
	for range 7 {
		if id := <-got; id != want {
			t.Errorf("%s and %s", id, want)
		}
	}
	jobs, err := f.s.List(t.Context(), Person{Subject: "alice"}, false, false, 0, 100)
	if err != nil || len(jobs) != 2 {
		t.Errorf("alice has %d jobs, %v", len(jobs), err)
	}
}

// An input file that did not come with the job would be one of the scheduler's
// machine: its key, another user's files.
func TestInputFilesOfTheSchedulerAreNotReached(t *testing.T) {
	f := newFront(t, nil)
	for _, path := range []string{"/etc/passwd", "file:///etc/passwd", "passwd"} {
		text := fmt.Sprintf(`[ Executable = "/bin/cat"; Arguments = "passwd"; InputSandbox = {%q}; ]`, path)
		if got := f.submit("alice", path, text); got.ID != "" || !strings.Contains(got.Error, "did not come with it") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	body := File{Name: "passwd", Body: []byte("mine")}
	text := `[ Executable = "/bin/cat"; InputSandbox = {"/home/alice/passwd"}; ]`
	got := f.submit("alice", "brought", text, body)
	if got.Error != "" {
		t.Fatal(got.Error)
	}
	for text, want := range map[string]int{
		`[ Executable = "/bin/cat"; InputSandbox = {"/home/alice/passwd", "/etc/shadow"}; ]`: 422,
		text: 204,
	} {
		if code := f.ask(f.client(nil), "alice", "PATCH", "/v1/jobs/"+got.ID, map[string]any{"jdl": text}, nil); code != want {
			t.Errorf("refreshed to %s: %d", text, code)
		}
	}
}

// Rates, bodies, files and numbers have bounds, and who goes beyond one is told.
func TestBounds(t *testing.T) {
	f := newFront(t, func(c *Config, a *API) {
		c.MaxSandbox, c.MaxDisk, c.MaxJobs = 1000, 1500, 3
	})
	file := func(n int) File { return File{Name: "in", Body: make([]byte, n)} }
	text := `[ Executable = "/bin/cat"; InputSandbox = {"in"}; ]`
	for i, c := range []struct {
		key, text, want string
		files           []File
	}{
		{"a", text, "1001 bytes, the scheduler takes 1000", []File{file(1001)}},
		{"b", text, "", []File{file(1000)}},
		{"c", text, "1600 bytes of 1500", []File{file(600)}},
		{"d", "[ Executable = ", "1:", nil},
		{"e", sample, "is no plain file name", []File{{Name: "../x", Body: []byte("x")}}},
		{"f", sample, "", nil},
		{"g", sample, "", nil},
		{"h", sample, "you have 3 jobs", nil},
		{"two\nlines", sample, "one line", nil},
	} {
		got := f.submit("alice", c.key, c.text, c.files...)
		if (got.Error == "") != (c.want == "") || !strings.Contains(got.Error, c.want) {
			t.Errorf("%d: %+v, want %q", i, got, c.want)
		}
	}
	many := make([]Submission, 2001)
	for i := range many {
		many[i] = Submission{Key: fmt.Sprint(i), JDL: sample}
	}
	for name, c := range map[string]struct {
		path string
		body any
		want int
	}{
		"too many jobs":     {"/v1/jobs", map[string]any{"jobs": many}, 422},
		"none":              {"/v1/jobs", map[string]any{"jobs": []Submission{}}, 422},
		"no JSON":           {"/v1/jobs", []byte("{"), 400},
		"an unknown field":  {"/v1/jobs", []byte(`{"jobs": [], "x": 1}`), 422},
		"too long a body":   {"/v1/jobs/status", bytes.Repeat([]byte(" "), 5<<20), 413},
		"negative priority": {"/v1/jobs", map[string]any{"jobs": []Submission{{Key: "n", JDL: sample, Priority: -1}}}, 422},
	} {
		if code := f.ask(f.client(nil), "bob", "POST", c.path, c.body, nil); code != c.want {
			t.Errorf("%s: %d, want %d", name, code, c.want)
		}
	}
	got, err := f.s.Submit(t.Context(), Person{Subject: "bob"}, []Submission{{Key: "x", JDL: sample, Priority: math.NaN()}})
	if err != nil || !strings.Contains(got[0].Error, "priority NaN") {
		t.Error(got, err)
	}
}

// Who asks too often is told to wait, and others are not.
func TestRate(t *testing.T) {
	f := newFront(t, func(_ *Config, a *API) { a.Rate = 0.4 }) // two at once, and twelve in no less than 25 s
	codes := map[int]int{}
	for range 12 {
		codes[f.ask(f.client(nil), "alice", "GET", "/v1/ping", nil, nil)]++
	}
	if codes[200] < 2 || codes[429] == 0 {
		t.Errorf("alice: %v", codes)
	}
	if code := f.ask(f.client(nil), "bob", "GET", "/v1/ping", nil, nil); code != 200 {
		t.Errorf("bob waits for alice: %d", code)
	}
}

// delta is a full set of n slots of one node each, packed; change alters it
// first.
func (f *front) delta(cluster string, n int, change func(*wire.Delta)) []byte {
	f.t.Helper()
	at := f.now.Unix()
	d := &wire.Delta{Schema: wire.DeltaSchema, Cluster: cluster, Seq: 1, Full: true, Made: at, TTL: 600, Site: &wire.Site{Start: wire.Plain, LRMS: "slurm"}}
	for i := range n {
		name := fmt.Sprint("n", i)
		d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: name, CPUs: 4, Up: true})
		d.Put = append(d.Put, wire.Slot{ID: uint64(i + 1), Node: name, CPUs: 4, From: at, To: at + 7200, Start: 1, Hold: 1})
	}
	if change != nil {
		change(d)
	}
	if d.Digest == "" {
		set := wire.Set{}
		for _, s := range d.Put {
			set.Put(s)
		}
		d.Digest = set.Digest()
	}
	text, err := new(wire.Packer).Delta(d)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// An issuer's token makes nobody a member of a VO for which that issuer does not speak, and groups are text.
func TestIssuersSpeakForTheirVOs(t *testing.T) {
	a, b, free := testbed.ServeIssuer(t), testbed.ServeIssuer(t), testbed.ServeIssuer(t)
	f := newFront(t, func(_ *Config, api *API) {
		api.Door.Issuers, api.Door.Audience = []string{a.URL, b.URL, free.URL}, "grid"
		api.Door.VOs = map[string][]string{a.URL: {"a", "c"}, b.URL: {"b"}}
	})
	for _, c := range []struct {
		iss    *testbed.Issuer
		groups []string
		vo     string // "": not believed
	}{
		{a, []string{"/a/production", "/a"}, "a"},
		{a, []string{"c"}, "c"},
		{a, []string{"/a", "/b"}, ""},
		{a, []string{"/ab"}, ""},
		{a, []string{"b/a"}, ""},
		{b, []string{"/b"}, "b"},
		{b, []string{"/a"}, ""},
		{free, []string{"/a"}, "a"},
		{free, []string{"/a/x\ny"}, ""},
	} {
		token, err := c.iss.Token("carol", time.Hour, map[string]any{"aud": "grid", "wlcg.groups": c.groups})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Jobs []struct{ Error string }
		}
		vo := cmp.Or(c.vo, "a")
		sent := map[string]any{"jobs": []map[string]any{{"key": fmt.Sprint(c), "jdl": fmt.Sprintf("[ Executable = \"/bin/true\"; VirtualOrganisation = %q; ]", vo)}}}
		if code := f.ask(f.client(nil), token, "POST", "/v1/jobs", sent, &answer); code != 200 || len(answer.Jobs) != 1 {
			t.Fatalf("%q: %d %+v", c.groups, code, answer)
		}
		if said := answer.Jobs[0].Error; (said == "") != (c.vo != "") {
			t.Errorf("%q of %s: %q", c.groups, c.iss.URL, said)
		}
	}
}
