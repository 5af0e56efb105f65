package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// oddPaths are paths at which an issuer answers as it likes, from some moment on.
type oddPaths struct {
	mu sync.Mutex
	do map[string]http.HandlerFunc
}

func (o *oddPaths) at(path string) http.HandlerFunc {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.do[path]
}

func (o *oddPaths) set(do map[string]http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.do = do
}

// newIssuerLab is an issuer of tokens that answers some paths as it likes, and
// somebody who trusts its certificate.
func newIssuerLab(t *testing.T, odd *oddPaths) (v *victim, url string) {
	t.Helper()
	signer, err := testbed.OpenIssuer(t.TempDir(), "https://issuer.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	var srv *httptest.Server
	srv = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do := odd.at(r.URL.Path); do != nil {
			do(w, r)
			return
		}
		answer := map[string]any{}
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			answer = discoveryOf(srv.URL)
		case "/device":
			answer = map[string]any{"device_code": "dc", "user_code": "ABCD-EFGH", "verification_uri": srv.URL + "/go", "expires_in": 300, "interval": 1}
		case "/token":
			token, err := signer.Token("alice", time.Hour, nil)
			if err != nil {
				t.Error(err)
			}
			answer = map[string]any{"access_token": token, "token_type": "Bearer", "refresh_token": "secret-refresh-token"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	testbed.WriteFile(t, filepath.Join(dir, "issuer.pem"), testbed.PEM(srv.Certificate()), 0o644)
	return newVictim(t, "X509_CERT_DIR="+dir), srv.URL
}

func discoveryOf(url string) map[string]any {
	return map[string]any{"issuer": url, "token_endpoint": url + "/token", "authorization_endpoint": url + "/authorize", "jwks_uri": url + "/jwks",
		"device_authorization_endpoint": url + "/device", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}}
}

func says(answer map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func endless(head, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		flood(w, head, text)
	}
}

const discoveryPath = "/.well-known/openid-configuration"

// TestRogueIssuer: whatever an issuer of tokens answers, a login ends with its
// name, costs no more than was said, and tells no secret elsewhere.
func TestRogueIssuer(t *testing.T) {
	var stolen atomic.Int32
	thief := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	t.Cleanup(thief.Close)
	plain := testbed.Listen(t, func(net.Conn) { stolen.Add(1) })
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusTemporaryRedirect) }
	}
	device := func(more map[string]any) http.HandlerFunc {
		answer := map[string]any{"device_code": "dc", "user_code": "ABCD-EFGH", "verification_uri": "https://issuer.example.org/go", "expires_in": 300, "interval": 1}
		for k, v := range more {
			answer[k] = v
		}
		return says(answer)
	}
	elsewhere := discoveryOf("https://other.example.org")
	inTheClear := func(w http.ResponseWriter, r *http.Request) {
		d := discoveryOf("https://" + r.Host)
		d["token_endpoint"] = "http://" + plain + "/token"
		says(d)(w, r)
	}
	for name, odd := range map[string]map[string]http.HandlerFunc{
		"endless discovery":             {discoveryPath: endless(`{"issuer":"`, "xxxxxxxx")},
		"endless blanks":                {discoveryPath: endless(`{`, "        ")},
		"discovery elsewhere":           {discoveryPath: to("https://" + thief.Listener.Addr().String())},
		"discovery in the clear":        {discoveryPath: to("http://" + plain)},
		"another issuer's discovery":    {discoveryPath: says(elsewhere)},
		"tokens in the clear":           {discoveryPath: inTheClear},
		"a negative interval":           {"/device": device(map[string]any{"interval": -1}), "/token": says(map[string]any{"error": "access_denied"})},
		"a page of its own scheme":      {"/device": device(map[string]any{"verification_uri": "javascript:alert(1)"})},
		"a page that makes lines":       {"/device": device(map[string]any{"verification_uri": "https://x.example.org/\ngrid: all is well"})},
		"a code that makes lines":       {"/device": device(map[string]any{"user_code": "X\ngrid: all is well"}), "/token": says(map[string]any{"error": "access_denied"})},
		"a giant page":                  {"/device": device(map[string]any{"verification_uri": "https://x.example.org/" + strings.Repeat("x", 500_000)})},
		"a giant code":                  {"/device": device(map[string]any{"user_code": strings.Repeat("x", 500_000)})},
		"endless device":                {"/device": endless(`{"device_code":"`, "xxxxxxxx")},
		"the device's answer elsewhere": {"/device": to("https://" + thief.Listener.Addr().String())},
		"tokens elsewhere":              {"/token": to("https://" + thief.Listener.Addr().String())},
		"endless tokens":                {"/token": endless(`{"access_token":"`, "xxxxxxxx")},
		"a giant token":                 {"/token": says(map[string]any{"access_token": strings.Repeat("x", 900_000), "token_type": "Bearer"})},
		"a giant refresh token":         {"/token": says(map[string]any{"access_token": "x", "token_type": "Bearer", "refresh_token": strings.Repeat("x", 900_000)})},
		"giant words": {"/token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"no","error_description":%q}`, strings.Repeat("no\n", 200_000))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, url := newIssuerLab(t, &oddPaths{do: odd})
			h := v.grid(0, "auth", "login", "--issuer", url, "--client-id", "c")
			v.bounded(h, url)
			if h.code == 0 {
				t.Errorf("the login went well:\n%s", h.out)
			}
			for line := range strings.Lines(h.errs) {
				if strings.HasPrefix(line, "grid: all is well") {
					t.Errorf("a line of its own:\n%s", h.errs)
				}
			}
			if _, err := os.Stat(filepath.Join(v.dir, fmt.Sprintf("bt_u%d", os.Getuid()))); err == nil {
				t.Error("a token was written")
			}
		})
	}
	t.Cleanup(func() {
		if n := stolen.Load(); n > 0 {
			t.Errorf("%d requests came elsewhere", n)
		}
	})
}

// TestRefreshTokenStays: a token endpoint that sends on who brings the refresh
// token is not followed, and a user whose login does not do is told.
func TestRefreshTokenStays(t *testing.T) {
	var stolen atomic.Int32
	var turned atomic.Bool
	lab := &oddPaths{}
	v, url := newIssuerLab(t, lab)
	if h := v.grid(0, "auth", "login", "--issuer", url, "--client-id", "c"); h.code != 0 {
		t.Fatalf("the login failed:\n%s", h.errs)
	}
	lab.set(map[string]http.HandlerFunc{
		"/token": func(w http.ResponseWriter, r *http.Request) {
			turned.Store(true)
			http.Redirect(w, r, url+"/stolen", http.StatusTemporaryRedirect)
		},
		"/stolen": func(http.ResponseWriter, *http.Request) { stolen.Add(1) },
		"/device": says(map[string]any{}),
	})
	h := v.grid(0, "auth", "login", "--issuer", url, "--client-id", "c")
	if !turned.Load() || stolen.Load() > 0 || h.code == 0 || !strings.Contains(h.errs, url) {
		t.Errorf("asked: %v, sent on: %d, exit code %d\n%s", turned.Load(), stolen.Load(), h.code, h.errs)
	}
	if strings.Contains(h.errs+h.out, "secret-refresh-token") {
		t.Errorf("the refresh token is shown:\n%s%s", h.out, h.errs)
	}
}
