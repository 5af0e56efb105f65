package scheduler

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// doorway is an issuer at which carol is always signed in already.
type doorway struct {
	*httptest.Server
	iss     *testbed.Issuer
	asked   url.Values // what a browser was last sent with
	refuses bool
	answers func(http.ResponseWriter) // in the place of a token
	claims  map[string]any            // in place of what should be in the ID token
	says    map[string]any            // of itself, in place of what is so
}

func newDoorway(t *testing.T) *doorway {
	d := &doorway{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/jwks.json":
			json.NewEncoder(w).Encode(d.iss.Keys())
		case "/authorize":
			d.asked = r.URL.Query()
			q := url.Values{"state": d.asked["state"], "code": {"the code"}}
			if d.refuses {
				q = url.Values{"state": d.asked["state"], "error": {"access_denied"}, "error_description": {"<b>no</b>"}}
			}
			http.Redirect(w, r, d.asked.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
		case "/welcome":
			io.WriteString(w, "<html>welcome")
		case "/token":
			d.token(t, w, r)
		default:
			doc := d.iss.Discovery().(map[string]any)
			maps.Copy(doc, d.says)
			json.NewEncoder(w).Encode(doc)
		}
	}))
	t.Cleanup(d.Close)
	var err error
	if d.iss, err = testbed.OpenIssuer(t.TempDir(), d.URL+"/"); err != nil {
		t.Fatal(err)
	}
	return d
}

// token gives an ID token to who has the code, the secret, and what the challenge was made of.
func (d *doorway) token(t *testing.T, w http.ResponseWriter, r *http.Request) {
	if d.answers != nil {
		d.answers(w)
		return
	}
	client, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if r.PostFormValue("code") != "the code" || client != "page" || secret != "hush" || base64.RawURLEncoding.EncodeToString(sum[:]) != d.asked.Get("code_challenge") {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := map[string]any{"aud": "page", "nonce": d.asked.Get("nonce")}
	for name, v := range d.claims {
		claims[name] = v
	}
	id, err := d.iss.Token("carol", time.Hour, claims)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": id})
}

// browser is a client that keeps cookies and says that it reads pages.
func (f *front) browser() *http.Client {
	c := f.client(nil)
	c.Jar, _ = cookiejar.New(nil)
	return c
}

func visitPage(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,*/*;q=0.8")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// newLogin is a front with a login at an issuer.
func newLogin(t *testing.T) (*front, *doorway) {
	d, login := newDoorway(t), &Login{Client: "page", Secret: "hush"}
	login.Issuer = d.iss.URL
	f := newFront(t, func(_ *Config, a *API) { a.Login, a.Door.Admins = login, []string{d.iss.URL + "#carol"} })
	login.URL = f.server.URL
	return f, d
}

// Somebody without a credential is told how to get in, signs in at the issuer, sees the page as
// whom he is, with the rights that he has, and is a stranger again when he has signed out or
// hours have gone.
func TestSignIn(t *testing.T) {
	f, _ := newLogin(t)
	c := f.browser()
	if code, text := visitPage(t, c, f.server.URL+"/"); code != http.StatusUnauthorized || !strings.Contains(text, `href="/login"`) {
		t.Fatalf("a stranger: %d %s", code, text)
	}
	code, text := visitPage(t, c, f.server.URL+"/login")
	if code != http.StatusOK || !strings.Contains(text, "#carol</details> (administrator)") || !strings.Contains(text, `href="/logout"`) {
		t.Fatalf("signed in: %d %s", code, text)
	}
	if code, _ := visitPage(t, c, f.server.URL+"/v1/jobs"); code != http.StatusUnauthorized {
		t.Errorf("a browser asks the API: %d", code)
	}
	resp, err := c.Post(f.server.URL+"/v1/jobs/cancel", "application/json", strings.NewReader(`{"ids":["x"]}`))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a browser cancels: %v %v", resp, err)
	}
	if code, text := visitPage(t, c, f.server.URL+"/logout"); code != http.StatusUnauthorized || strings.Contains(text, "carol") {
		t.Errorf("signed out: %d %s", code, text)
	}
	visitPage(t, c, f.server.URL+"/login")
	f.now = f.now.Add(sessionLife)
	if code, _ := visitPage(t, c, f.server.URL+"/"); code != http.StatusUnauthorized {
		t.Errorf("after hours: %d", code)
	}
}

// Whoever was not sent to the issuer, or comes back with what is another's or was made up, is
// not signed in; nor is a cookie of another kind taken for a session.
func TestSignInOfOthers(t *testing.T) {
	for name, claims := range map[string]map[string]any{
		"of another visit":  {"nonce": "other"},
		"for another":       {"aud": "other"},
		"of another issuer": {"iss": "https://other.example.org/"},
		"of yesterday":      {"exp": time.Now().Add(-time.Hour).Unix()},
		"without end":       {"story": strings.Repeat("x", maxToken)},
	} {
		f, d := newLogin(t)
		d.claims = claims
		if code, text := visitPage(t, f.browser(), f.server.URL+"/login"); code != http.StatusForbidden || strings.Contains(text, "carol") {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	f, d := newLogin(t)
	if code, _ := visitPage(t, f.browser(), f.server.URL+"/login/back?code=the+code&state=x"); code != http.StatusBadRequest {
		t.Errorf("never sent: %d", code)
	}
	c := f.browser()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	visitPage(t, c, f.server.URL+"/login")
	if code, _ := visitPage(t, c, f.server.URL+"/login/back?code=the+code&state=x"); code != http.StatusBadRequest {
		t.Errorf("another state: %d", code)
	}
	visitPage(t, c, f.server.URL+"/login")
	at, _ := url.Parse(f.server.URL)
	for _, cookie := range c.Jar.Cookies(at) {
		cookie.Name = sessionCookie
		c.Jar.SetCookies(at, []*http.Cookie{cookie})
	}
	if code, _ := visitPage(t, c, f.server.URL+"/"); code != http.StatusUnauthorized {
		t.Errorf("a visit as a session: %d", code)
	}
	d.refuses = true
	if code, text := visitPage(t, f.browser(), f.server.URL+"/login"); code != http.StatusForbidden || !strings.Contains(text, "access_denied") || strings.Contains(text, "<b>") {
		t.Errorf("refused: %d %s", code, text)
	}
}

// Who comes back from an issuer that is gone by then, or cannot answer, is told so, and not that its answer is not good.
func TestIssuerGoesAwayMeanwhile(t *testing.T) {
	for name, answers := range map[string]func(http.ResponseWriter){
		"gone":     func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"restarts": func(w http.ResponseWriter) { http.Error(w, "no database", http.StatusServiceUnavailable) },
	} {
		f, d := newLogin(t)
		d.answers = answers
		if code, text := visitPage(t, f.browser(), f.server.URL+"/login"); code != http.StatusBadGateway || !strings.Contains(text, "does not answer. Try again later") {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}

// Without a login a browser is told what there is; a program gets a line.
func TestStrangerWithABrowser(t *testing.T) {
	f := newFront(t, nil)
	if code, text := visitPage(t, f.browser(), f.server.URL+"/"); code != http.StatusUnauthorized || !strings.Contains(text, "grid certificate") || strings.Contains(text, `"/login"`) {
		t.Errorf("%d %s", code, text)
	}
	resp, err := f.client(nil).Get(f.server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusUnauthorized || strings.Contains(string(text), "<") {
		t.Errorf("a program: %d %s", resp.StatusCode, text)
	}
}

// An issuer at which nobody could sign in, or whose tokens nobody could verify, is found out
// before people are sent there.
func TestIssuersAreAsked(t *testing.T) {
	for want, says := range map[string]map[string]any{
		"":                             {},
		"no authorization_endpoint":    {"authorization_endpoint": nil},
		"no token_endpoint":            {"token_endpoint": nil},
		"no jwks_uri":                  {"jwks_uri": nil},
		"gives no authorization codes": {"response_types_supported": []string{"id_token"}},
		"does not take PKCE by S256":   {"code_challenge_methods_supported": []string{"plain"}},
		"did not match":                {"issuer": "https://another.example.org"},
		"its keys: what":               {"jwks_uri": "PAGE"},
	} {
		d := newDoorway(t)
		if d.says = says; says["jwks_uri"] == "PAGE" {
			says["jwks_uri"] = d.URL + "/welcome"
		}
		err := (&Door{}).CheckLogin(t.Context(), &Login{Issuer: d.iss.URL, Client: "page"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	d := newDoorway(t)
	d.Close()
	if err := (&Door{}).CheckIssuer(t.Context(), d.iss.URL); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("one that is not there: %v", err)
	}
}
