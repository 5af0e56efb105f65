package htcondor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/htcondor"
	"gridbroker/plugins/plugintest"
	"gridbroker/plugins/remote"
	"gridbroker/testdata/testbed"
)

// ce is the HTCondor-CE in front of the testbed's pool, for a user who has its
// tools, the authority of its host and tokens of its issuer, and nothing else.
type ce struct {
	env    map[string]string
	issuer *testbed.Issuer
	home   string
	host   string // host:port, its audience
	url    string // as BDIIs name it
}

func newCE(t testing.TB) *ce {
	t.Helper()
	env := testbed.Env(t, "condor")
	host := env["GRID_CONDOR_CE"]
	if host == "" {
		t.Skip("the testbed has no HTCondor-CE: testdata/testbed/condor/up.sh starts it")
	}
	issuer, err := testbed.OpenIssuer(env["GRID_CONDOR_CE_ISSUER_DIR"], env["GRID_CONDOR_CE_ISSUER"])
	if err != nil {
		t.Fatal(err)
	}
	return &ce{env: env, issuer: issuer, home: directory(t, env), host: host, url: "https://" + host}
}

// token is one of alice's; claims replace those of the WLCG profile.
func (c *ce) token(t testing.TB, life time.Duration, claims map[string]any) string {
	t.Helper()
	text, err := c.issuer.Token("alice", life, claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// backend is opened by somebody who has the token; "": none. Whatever the
// caller's environment holds besides must not matter.
func (c *ce) backend(t testing.TB, token string, minter credential.Minter) *htcondor.Backend {
	t.Helper()
	vars := map[string]string{"PATH": c.env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH"), "CONDOR_CONFIG": c.env["GRID_CONDOR_CE_CONFIG"],
		"X509_CERT_DIR": c.env["GRID_CONDOR_CE_CERTIFICATES"], "XDG_RUNTIME_DIR": t.TempDir(), "BEARER_TOKEN": token}
	var environ []string
	for name, v := range vars {
		environ = append(environ, name+"="+v)
	}
	who := credential.Env{Getenv: func(name string) string { return vars[name] }, Home: c.home, UID: 54321}
	b := htcondor.New(htcondor.Options{Options: remote.Options{Environ: environ, Home: c.home}, Credentials: func() (*credential.Set, error) {
		set, err := credential.Discover(who, credential.Options{NoX509: true})
		if err == nil {
			set.Minter = minter
		}
		return set, err
	}})
	t.Cleanup(func() { b.Close() })
	return b
}

// A CE as a BDII names it does all that a back-end does, with a token for it.
func TestCEConformance(t *testing.T) {
	t.Parallel()
	c := newCE(t)
	b := c.backend(t, c.token(t, time.Hour, map[string]any{"aud": c.host}), nil)
	plugintest.TestSubmitter(t, plugintest.Target{
		Submitter: b, Endpoint: glue.Endpoint{URL: c.url, Interface: glue.InterfaceHTCondorCE}, Patience: 4 * time.Minute, Hidden: true,
		Stray: plugins.Handle{Interface: glue.InterfaceHTCondorCE, Endpoint: c.url, ID: "999999.0/stray"},
		Dead:  glue.Endpoint{URL: "https://127.0.0.1:1", Interface: glue.InterfaceHTCondorCE},
	})
}

// mint gives out tokens for any audience and remembers which.
type mint struct {
	c     *ce
	asked []string
}

func (m *mint) Mint(_ context.Context, audience string, scopes []string) (*credential.Token, error) {
	m.asked = append(m.asked, audience+" "+strings.Join(scopes, " "))
	text, err := m.c.issuer.Token("alice", time.Hour, map[string]any{"aud": audience, "scope": strings.Join(scopes, " ")})
	if err != nil {
		return nil, err
	}
	return credential.ParseToken("minted", text)
}

// Tokens that the CE takes, whoever gave them out and for whatever audience it
// accepts.
func TestCETokens(t *testing.T) {
	c := newCE(t)
	m := &mint{c: c}
	for name, b := range map[string]*htcondor.Backend{
		"WLCG profile, for any":       c.backend(t, c.token(t, time.Hour, nil), nil),
		"SciToken":                    c.backend(t, c.token(t, time.Hour, map[string]any{"aud": c.host, "ver": "scitoken:2.0", "scope": "condor:/READ condor:/WRITE"}), nil),
		"none, but one can be minted": c.backend(t, "", m),
		"another's, one is minted":    c.backend(t, c.token(t, time.Hour, map[string]any{"aud": "https://other.example.org"}), m),
	} {
		pong, err := b.Ping(t.Context(), c.url)
		if err != nil || !pong.LetIn || !strings.HasPrefix(pong.Identity, "condorjob@") {
			t.Errorf("%s: %+v %v", name, pong, err)
		}
	}
	if want := c.host + " compute.read compute.create compute.cancel compute.modify"; len(m.asked) != 2 || m.asked[0] != want || m.asked[1] != want {
		t.Errorf("minted %q, want %q once for each", m.asked, want)
	}
}

// What the CE does not take says what is wrong with it, and no job is made.
func TestCETokensRefused(t *testing.T) {
	c := newCE(t)
	for name, bad := range map[string]struct {
		token string
		says  string
	}{
		"none":             {"", "no bearer token"},
		"expired":          {c.token(t, -time.Minute, nil), "expired"},
		"another audience": {c.token(t, time.Hour, map[string]any{"aud": "https://other.example.org"}), "https://other.example.org"},
		"it may only read": {c.token(t, time.Hour, map[string]any{"aud": c.host, "scope": "compute.read"}), "DENIED"},
	} {
		b := c.backend(t, bad.token, nil)
		id := fmt.Sprintf("x%d", time.Now().UnixNano())
		r := b.Submit(t.Context(), []plugins.Request{{ID: id, Endpoint: glue.Endpoint{URL: c.url}, Job: sh("true")}}, nil)[0]
		e, ok := r.Err.(*plugins.Error)
		if !ok || e.Kind != plugins.Unavailable && e.Kind != plugins.Credential || !strings.Contains(e.Error()+e.Hint, bad.says) {
			t.Errorf("%s: %v", name, r.Err)
		}
		if bad.token != "" && strings.Contains(fmt.Sprint(r.Err), bad.token) {
			t.Errorf("%s: the token is in the message", name)
		}
		if name == "it may only read" && (e == nil || e.Kind != plugins.Credential) {
			t.Errorf("%s: %v is no matter of credentials", name, r.Err)
		}
	}
}

// A CE asked about itself shows its queue; the slots are those behind it.
func TestCEResources(t *testing.T) {
	t.Parallel()
	c := newCE(t)
	b := c.backend(t, c.token(t, time.Hour, nil), nil)
	at := "condor://" + c.host
	r := plugintest.Only(t, b, at)
	if !r.Waiting.OK || !r.Running.OK || r.FreeSlots.OK || r.TotalSlots.OK || r.ImplVersion == "" || r.Endpoints[0].Interface != glue.InterfaceHTCondorCE {
		t.Errorf("%+v", r)
	}
	tagged := sh("cat file")
	tagged.Demand.RuntimeEnvironments = []string{"VO-test-known-to-the-routes"}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("brought\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tagged.InputSandbox = append(tagged.InputSandbox, jdl.InputFile{Source: file, Name: "file"})
	p := &pool{Backend: b}
	hs, sts := p.run(t, at, tagged)
	dir := t.TempDir()
	f := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]
	text, _ := os.ReadFile(filepath.Join(dir, "out"))
	if sts[0].State != plugins.Done || f.Err != nil || string(text) != "brought\n" {
		t.Errorf("%+v %v %q", sts[0], f.Err, text)
	}
}
