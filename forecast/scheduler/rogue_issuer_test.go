package scheduler

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"gridbroker/testdata/testbed"
)

// rogueIssuer says honestly where its keys are, or not quite, and there what it likes.
type rogueIssuer struct {
	*testbed.Issuer
	says map[string]any
	keys http.HandlerFunc
}

func (i *rogueIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/jwks.json" {
		i.keys(w, r)
		return
	}
	doc := i.Discovery().(map[string]any)
	maps.Copy(doc, i.says)
	json.NewEncoder(w).Encode(doc)
}

// shown is what a door says of a token of an issuer.
func (i *rogueIssuer) shown(t *testing.T) (Person, error) {
	t.Helper()
	token, err := i.Token("mallory", time.Hour, map[string]any{"aud": "grid"})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/v1/ping", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return (&Door{Issuers: []string{i.URL}, Audience: "grid"}).Who(r)
}

func newRogueIssuer(t *testing.T) *rogueIssuer {
	i := &rogueIssuer{}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	var err error
	if i.Issuer, err = testbed.OpenIssuer(t.TempDir(), s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	i.keys = func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(i.Keys()) }
	return i
}

// Whatever an issuer says of its keys is looked at in little time, its words are not repeated at
// length, and neither it nor its keys are looked for elsewhere or in the clear.
func TestRogueKeys(t *testing.T) {
	var led atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led.Add(1) }))
	t.Cleanup(thief.Close)
	rsa := func(bits int) string {
		n := make([]byte, bits/8)
		n[0], n[len(n)-1] = 0x80, 1
		return fmt.Sprintf(`{"kty":"RSA","kid":"testbed","n":%q,"e":"f____w"}`, base64.RawURLEncoding.EncodeToString(n))
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(s)) }
	}
	for want, c := range map[string]struct {
		says map[string]any
		keys http.HandlerFunc
	}{
		"":                          {},
		"modulus too large":         {nil, text(`{"keys":[` + rsa(1<<22) + `]}`)},
		"the issuer has 3000 keys":  {nil, text(`{"keys":[` + strings.Repeat(`{"kty":"oct","k":"AA"},`, 2999) + `{}]}`)},
		"failed to verify id token": {nil, text(`{"keys":[` + strings.Repeat(rsa(jose.MaxRSAModulusBits)+",", issuerKeys-1) + rsa(jose.MaxRSAModulusBits) + `]}`)},
		"failed to decode":          {nil, text(strings.Repeat("words without end ", 50_000))},
		"500 Internal Server Error": {nil, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 900_000), 500) }},
		"307 Temporary Redirect": {nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}},
		"\"" + thief.URL:                   {says: map[string]any{"jwks_uri": thief.URL + "/keys"}},
		`"javascript:alert(1)", which is`:  {says: map[string]any{"authorization_endpoint": "javascript:alert(1)"}},
		`"http://token.example.org/token"`: {says: map[string]any{"token_endpoint": "http://token.example.org/token"}},
	} {
		i := newRogueIssuer(t)
		i.says = c.says
		if c.keys != nil {
			i.keys = c.keys
		}
		testbed.Within(t, 2*time.Second, 100<<20, func() {
			p, err := i.shown(t)
			if want == "" && (err != nil || p.Subject != i.URL+"#mallory") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: %+v, %.300v", want, p, err)
			}
			if err != nil && len(err.Error()) > 2*issuerWords {
				t.Errorf("%q: %d bytes of words", want, len(err.Error()))
			}
		})
	}
	if n := led.Load(); n > 0 {
		t.Errorf("%d requests were sent elsewhere", n)
	}
}

// What a token endpoint says of a code is told in few words, without the secret that was shown to it.
func TestRogueTokenEndpoint(t *testing.T) {
	f, d := newLogin(t)
	var said strings.Builder
	f.api.Log = slog.New(slog.NewTextHandler(&said, nil))
	d.answers = func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"no","error_description":"not with hush","more":%q}`, strings.Repeat("hush ", 100_000))
	}
	if code, _ := visitPage(t, f.browser(), f.server.URL+"/login"); code != http.StatusForbidden {
		t.Errorf("code %d", code)
	}
	if text := said.String(); len(text) > 1000 || strings.Contains(text, "hush") || !strings.Contains(text, "not with (the client's secret)") {
		t.Errorf("%d bytes in the log: %.1000s", len(text), text)
	}
}
