package oidc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/asked"
	"gridbroker/credential"
	"gridbroker/credential/oidc"
	"gridbroker/testdata/testbed"
)

func login(t *testing.T, d *testbed.DeviceIssuer) (oidc.Login, *string) {
	shown := new(string)
	return oidc.Login{HTTP: d.Client, Issuer: d.URL, Scopes: []string{"compute.create", "compute.read"},
		Show: func(url, code, _ string) { *shown = url + " " + code }}, shown
}

func TestDeviceFlow(t *testing.T) {
	d := testbed.StartDeviceIssuer(t, nil)
	d.Polls = 1
	l, shown := login(t, d)
	l.Audience = "https://ce.example.org"
	s, tok, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if *shown != d.URL+"/go ABCD-EFGH" {
		t.Errorf("shown %q", *shown)
	}
	if s.ClientID != "registered-client" || s.RefreshToken == "" {
		t.Errorf("session of client %q, refresh token there: %v", s.ClientID, s.RefreshToken != "")
	}
	if tok.Subject() != "alice" || !tok.HasScope("compute.create") || tok.Audience()[0] != "https://ce.example.org" {
		t.Errorf("token: %s %v %v", tok.Subject(), tok.Scopes(), tok.Audience())
	}
	if text := fmt.Sprintf("%v %+v %#v %s", s, s, s, tok); strings.Contains(text, s.RefreshToken) || strings.Contains(text, tok.Raw()) {
		t.Error("printing shows a secret")
	}
}

// Each way in which a login ends has its own finding.
func TestLoginFailures(t *testing.T) {
	for _, tt := range []struct {
		id     string
		change func(*testbed.DeviceIssuer, *oidc.Login)
	}{
		{"login.denied", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.Deny = "access_denied" }},
		{"login.timeout", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.Deny = "expired_token" }},
		{"login.refused", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.DenyStart = "unauthorized_client" }},
		{"login.failed", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.Deny = "invalid_client" }},
		{"login.no-device-flow", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.NoDevice = true }},
		{"login.no-client", func(d *testbed.DeviceIssuer, _ *oidc.Login) { d.NoReg = true }},
		{"login.discovery", func(d *testbed.DeviceIssuer, l *oidc.Login) { l.Issuer += "/elsewhere" }},
		{"login.issuer", func(_ *testbed.DeviceIssuer, l *oidc.Login) { l.Issuer = "http://iam.example.org" }},
		{"server.unknown-ca", func(_ *testbed.DeviceIssuer, l *oidc.Login) {
			trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: t.TempDir(), CAs: credential.GridCA})
			if err != nil {
				t.Fatal(err)
			}
			l.HTTP = trust.HTTPClient(nil, 5*time.Second)
		}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			d := testbed.StartDeviceIssuer(t, nil)
			l, _ := login(t, d)
			tt.change(d, &l)
			_, _, err := l.Run(t.Context())
			if f, ok := errors.AsType[*credential.Finding](err); !ok || f.ID != tt.id {
				t.Errorf("got %v", err)
			}
		})
	}
}

// loggedIn is somebody whose login is stored.
func loggedIn(t *testing.T, d *testbed.DeviceIssuer) (credential.Env, oidc.Store) {
	t.Helper()
	l, _ := login(t, d)
	s, _, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := oidc.Store{Dir: filepath.Join(t.TempDir(), "logins")}
	if err := store.Save(s); err != nil {
		t.Fatal(err)
	}
	return credential.Env{UID: os.Getuid()}, store
}

// A login serves each endpoint with a token of its own audience; refresh
// tokens change and the new one is kept.
func TestMintPerEndpoint(t *testing.T) {
	d := testbed.StartDeviceIssuer(t, nil)
	env, store := loggedIn(t, d)
	set := &credential.Set{Minter: &oidc.Minter{Env: env, Store: store, HTTP: d.Client}}
	for _, ce := range []string{"https://a.example.org:443/arex", "https://b.example.org:8443/arex", "https://a.example.org/arex"} {
		tok, err := set.TokenFor(t.Context(), ce, "compute.create")
		if err != nil {
			t.Fatal(err)
		}
		if f := tok.Fits(ce, "compute.create"); f != nil {
			t.Error(f)
		}
		if tok.HasScope("compute.read") {
			t.Error("the token may more than was asked for")
		}
	}
	if n := len(d.Asked); n != 3 { // the login, a, b: a's second is from the cache
		t.Errorf("%d requests: %q", n, d.Asked)
	}
	if _, err := set.TokenFor(t.Context(), "https://a.example.org", "storage.read"); !hasID(err, "login.refresh") {
		t.Errorf("a scope that was not granted: %v", err)
	}
	info, err := os.Stat(filepath.Join(store.Dir, one(t, store.Dir)))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Of two logins, whichever stands first, that one is used which gives a token for the endpoint, and it is said which that
// was; where neither does, it is said for whom the tokens are. Each keeps the refresh token that it got on the way.
func TestTheLoginThatFits(t *testing.T) {
	fits, other := testbed.StartDeviceIssuer(t, nil), testbed.StartDeviceIssuer(t, nil)
	store := oidc.Store{Dir: filepath.Join(t.TempDir(), "logins")}
	for _, d := range []*testbed.DeviceIssuer{fits, other} {
		l, _ := login(t, d)
		s, _, err := l.Run(t.Context())
		if err == nil {
			err = store.Save(s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	set := &credential.Set{Minter: &oidc.Minter{Env: credential.Env{UID: os.Getuid()}, Store: store, HTTP: fits.Client, // it trusts the other, too
		Used: func(from, audience string) { said = append(said, from+" for "+audience) }}}
	for turn := range 4 {
		at := fmt.Sprintf("https://s%d.example.org", turn)
		fits.Always, other.Always = "", "https://elsewhere.example.org"
		tok, err := set.TokenFor(t.Context(), at)
		if err != nil || tok.Fits(at) != nil || tok.Issuer() != fits.URL || said[len(said)-1] != "the login at "+fits.URL+" for "+at {
			t.Fatalf("%d: %v, %q", turn, err, said)
		}
		fits, other = other, fits
	}
	fits.Always, other.Always = "https://elsewhere.example.org", "https://elsewhere.example.org"
	if _, err := set.TokenFor(t.Context(), "https://last.example.org"); !hasID(err, "token.audience") || !strings.Contains(err.Error(), "https://elsewhere.example.org") {
		t.Errorf("for nobody: %v", err)
	}
}

// A login that was made for an audience is asked first, and no other where it gives the token.
func TestTheLoginMadeForItIsAskedFirst(t *testing.T) {
	meant, other := testbed.StartDeviceIssuer(t, nil), testbed.StartDeviceIssuer(t, nil)
	store := oidc.Store{Dir: filepath.Join(t.TempDir(), "logins")}
	if meant.URL < other.URL { // in that order they are asked otherwise
		meant, other = other, meant
	}
	for _, d := range []*testbed.DeviceIssuer{meant, other} {
		l, _ := login(t, d)
		if d == meant {
			l.Audience = "https://s.example.org:443"
		}
		s, _, err := l.Run(t.Context())
		if err == nil {
			err = store.Save(s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m := &oidc.Minter{Env: credential.Env{UID: os.Getuid()}, Store: store, HTTP: meant.Client}
	tok, err := m.Mint(t.Context(), "https://s.example.org", nil)
	if err != nil || tok.Issuer() != meant.URL || len(other.Asked) != 1 {
		t.Errorf("%v, the other was asked %q", err, other.Asked)
	}
}

// An issuer that goes by resources (RFC 8707) gives tokens for one audience too; one that refuses them is asked without.
func TestAudienceByResource(t *testing.T) {
	for name, change := range map[string]func(*testbed.DeviceIssuer){
		"by resource":     func(d *testbed.DeviceIssuer) { d.Resources = true },
		"not this one":    func(d *testbed.DeviceIssuer) { d.Target = "invalid_target" },
		"no such request": func(d *testbed.DeviceIssuer) { d.Target = "invalid_request" },
	} {
		t.Run(name, func(t *testing.T) {
			d := testbed.StartDeviceIssuer(t, nil)
			change(d)
			l, _ := login(t, d)
			l.Audience = "https://ce.example.org"
			s, tok, err := l.Run(t.Context())
			if err != nil || !tok.For(l.Audience) {
				t.Fatalf("at login: %v, %v", tok, err)
			}
			if tok, err = s.Refresh(t.Context(), d.Client, "https://other.example.org", nil); err != nil || !tok.For("https://other.example.org") {
				t.Errorf("later: %v, %v", tok, err)
			}
		})
	}
}

// Who gives up is not kept by an issuer that does not answer, with whichever request of the login it falls silent.
func TestLoginIsGivenUp(t *testing.T) {
	for _, silent := range []string{"/.well-known/openid-configuration", "/register", "/device", "/token"} {
		t.Run(silent, func(t *testing.T) {
			d := testbed.StartDeviceIssuer(t, nil)
			asked, over := make(chan struct{}, 1), make(chan struct{})
			defer close(over)
			d.Before = func(r *http.Request) {
				if r.URL.Path == silent {
					asked <- struct{}{}
					<-over
				}
			}
			l, _ := login(t, d)
			ctx, giveUp := context.WithCancel(t.Context())
			went := make(chan error, 1)
			go func() { _, _, err := l.Run(ctx); went <- err }()
			<-asked
			giveUp()
			select {
			case err := <-went:
				if err == nil {
					t.Error("it has a token all the same")
				}
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}

// An issuer that passes over the audience is told of.
func TestOtherAudience(t *testing.T) {
	d := testbed.StartDeviceIssuer(t, nil)
	l, _ := login(t, d)
	l.Audience = "https://ce.example.org"
	_, tok, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := oidc.CheckAudience(tok, d.URL, "https://other.example.org"); !hasID(err, "login.audience") || !strings.Contains(err.Error(), "https://ce.example.org") {
		t.Errorf("%v", err)
	}
	for _, fits := range []string{"", l.Audience} {
		if err := oidc.CheckAudience(tok, d.URL, fits); err != nil {
			t.Errorf("%q: %v", fits, err)
		}
	}
}

// Without a login, or with one that cannot be renewed, there is no token.
func TestNothingToMintWith(t *testing.T) {
	m := &oidc.Minter{Store: oidc.Store{Dir: t.TempDir()}}
	if _, err := m.Mint(t.Context(), "https://ce", nil); !hasID(err, "login.absent") {
		t.Errorf("no login: %v", err)
	}
	if err := m.Store.Save(&oidc.Session{Issuer: "https://iam.example.org"}); err != nil {
		t.Fatal(err)
	}
	m.Env = credential.Env{UID: os.Getuid()}
	if _, err := m.Mint(t.Context(), "https://ce", nil); !hasID(err, "login.no-refresh") {
		t.Errorf("no refresh token: %v", err)
	}
}

func hasID(err error, id string) bool {
	f, ok := errors.AsType[*credential.Finding](err)
	return ok && f.ID == id
}

func one(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	return entries[0].Name()
}

// A stored login that others can read is refused.
func TestStorePermissions(t *testing.T) {
	store := oidc.Store{Dir: t.TempDir()}
	if err := store.Save(&oidc.Session{Issuer: "https://iam.example.org"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(store.Dir, one(t, store.Dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.List(credential.Env{UID: os.Getuid()}); !hasID(err, "file.permissions") {
		t.Errorf("got %v", err)
	}
	if err := store.Delete("https://iam.example.org/"); err != nil {
		t.Fatal(err)
	}
}

// fakeAgent answers like oidc-agent.
func fakeAgent(t *testing.T, answer string) (socket string, asked chan map[string]any) {
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = make(chan map[string]any, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		req := map[string]any{}
		_ = json.NewDecoder(conn).Decode(&req)
		asked <- req
		_, _ = conn.Write([]byte(answer))
	}()
	return socket, asked
}

func TestAgent(t *testing.T) {
	socket, asked := fakeAgent(t, `{"status":"success","access_token":"opaque-token","issuer":"https://iam/","expires_at":1}`)
	tok, err := oidc.Agent{Socket: socket, Account: "iam"}.Mint(t.Context(), "https://ce.example.org", []string{"compute.read", "compute.create"})
	if err != nil || tok.Raw() != "opaque-token" {
		t.Fatalf("%v", err)
	}
	req := <-asked
	want := map[string]any{"request": "access_token", "account": "iam", "min_valid_period": 300.0, "application_hint": "grid",
		"scope": "compute.read compute.create", "audience": "https://ce.example.org"}
	for k, v := range want {
		if req[k] != v {
			t.Errorf("%s: %v, want %v", k, req[k], v)
		}
	}
}

func TestAgentFailures(t *testing.T) {
	socket, _ := fakeAgent(t, `{"status":"failure","error":"Account not loaded"}`)
	if _, err := (oidc.Agent{Socket: socket, Account: "iam"}).Mint(t.Context(), "x", nil); !hasID(err, "agent.refused") || !strings.Contains(err.Error(), "Account not loaded") {
		t.Errorf("got %v", err)
	}
	if _, err := (oidc.Agent{Socket: socket + "no"}).Mint(t.Context(), "x", nil); !hasID(err, "agent.unreachable") {
		t.Errorf("got %v", err)
	}
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := (oidc.Agent{Socket: silent.Addr().String()}).Mint(ctx, "x", nil); !hasID(err, "agent.unreachable") {
		t.Errorf("a silent agent: %v", err)
	}
}

// Processes that want tokens at the same time do not use a refresh token
// twice: an issuer that rotates them ends the login of who does.
func TestMintAtTheSameTime(t *testing.T) {
	d := testbed.StartDeviceIssuer(t, nil)
	env, store := loggedIn(t, d)
	errs := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			m := &oidc.Minter{Env: env, Store: store, HTTP: d.Client}
			_, err := m.Mint(t.Context(), fmt.Sprintf("https://ce%d.example.org", i), []string{"compute.read"})
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// What oidc-agent is asked is told to who listens, without the token and in none of the agent's words.
func TestAgentIsTold(t *testing.T) {
	for answer, came := range map[string]string{
		`{"status":"success","access_token":"opaque-token","issuer":"https://iam/","expires_at":1}`: "done",
		`{"status":"failure","error":"opaque-token is not loaded"}`:                                 "refused",
		`nonsense`: "no answer",
	} {
		socket, _ := fakeAgent(t, answer)
		var told []string
		ctx := asked.Telling(t.Context(), func(what string) { told = append(told, what) })
		_, _ = oidc.Agent{Socket: socket, Account: "iam"}.Mint(ctx, "https://ce.example.org", nil)
		if len(told) != 1 || !strings.Contains(told[0], `a token of iam for "https://ce.example.org": `+came) || strings.Contains(told[0], "opaque") {
			t.Errorf("%s: told %q", answer, told)
		}
	}
}
