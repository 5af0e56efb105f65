package scheduler

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestTricksOfTokens: no header of a token chooses how, or by whose key, it is verified, nothing is fetched because a token
// names it, and of what an issuer signed only what can be meant is believed.
func TestTricksOfTokens(t *testing.T) {
	var led atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led.Add(1) }))
	t.Cleanup(thief.Close)
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	jwk := func(k *rsa.PrivateKey) string {
		return fmt.Sprintf(`{"kty":"RSA","kid":"k","alg":"RS256","use":"sig","n":%q,"e":%q}`, b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes()))
	}
	i := newRogueIssuer(t)
	i.keys = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"keys":[%s]}`, jwk(own)) }
	i.says = map[string]any{"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"}}
	signed := func(k *rsa.PrivateKey) func(text []byte) []byte {
		return func(text []byte) []byte {
			sum := sha256.Sum256(text)
			sig, err := rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return sig
		}
	}
	public, err := x509.MarshalPKIXPublicKey(own.Public())
	if err != nil {
		t.Fatal(err)
	}
	secretly := func(key []byte) func(text []byte) []byte {
		return func(text []byte) []byte {
			h := hmac.New(sha256.New, key)
			h.Write(text)
			return h.Sum(nil)
		}
	}
	now := time.Now().Unix()
	claims := func(more string) string {
		return fmt.Sprintf(`{"iss":%q,"aud":"grid","iat":%d,"nbf":%d,"exp":%d,"sub":"carol"%s}`, i.URL, now, now-60, now+3600, more)
	}
	with := func(more string) string { return `{"typ":"JWT","alg":"RS256","kid":"k"` + more + `}` }
	good := claims("")
	for name, c := range map[string]struct {
		head, body string
		sign       func([]byte) []byte
		in         bool
	}{
		"honest":                      {with(""), good, signed(own), true},
		"no signature":                {`{"alg":"none"}`, good, func([]byte) []byte { return nil }, false},
		"NoNe":                        {`{"alg":"NoNe","kid":"k"}`, good, func([]byte) []byte { return nil }, false},
		"an empty signature":          {with(""), good, func([]byte) []byte { return nil }, false},
		"the public key as secret":    {`{"alg":"HS256","kid":"k"}`, good, secretly(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), false},
		"the public key, in DER":      {`{"alg":"HS256","kid":"k"}`, good, secretly(public), false},
		"the modulus as secret":       {`{"alg":"HS256","kid":"k"}`, good, secretly(own.N.Bytes()), false},
		"another algorithm of RSA":    {`{"alg":"PS256","kid":"k"}`, good, signed(own), false},
		"a key of its own":            {with(`,"jwk":` + jwk(mallory)), good, signed(mallory), false},
		"keys elsewhere":              {with(`,"jku":"` + thief.URL + `"`), good, signed(mallory), false},
		"certificates elsewhere":      {with(`,"x5u":"` + thief.URL + `"`), good, signed(mallory), false},
		"a key's name that is a URL":  {`{"alg":"RS256","kid":"` + thief.URL + `"}`, good, signed(mallory), false},
		"what must be understood":     {with(`,"crit":["http://example.org/x"],"http://example.org/x":true`), good, signed(own), false},
		"not encoded":                 {with(`,"crit":["b64"],"b64":false`), good, signed(own), false},
		"two algorithms":              {`{"alg":"RS256","alg":"none","kid":"k"}`, good, func([]byte) []byte { return nil }, false},
		"for several":                 {with(""), claims(`,"aud":["x","grid"]`), signed(own), true},
		"for others":                  {with(""), claims(`,"aud":["x","grid2"]`), signed(own), false},
		"for a number":                {with(""), claims(`,"aud":7`), signed(own), false},
		"for nobody":                  {with(""), claims(`,"aud":[]`), signed(own), false},
		"good in an hour":             {with(""), claims(fmt.Sprintf(`,"nbf":%d`, now+3600)), signed(own), false},
		"no end":                      {with(""), strings.Replace(good, `"exp"`, `"x"`, 1), signed(own), false},
		"an end that is a word":       {with(""), claims(`,"exp":"tomorrow"`), signed(own), false},
		"an end before all days":      {with(""), claims(`,"exp":-9223372036854775808`), signed(own), false},
		"an end behind all days":      {with(""), claims(`,"exp":9223372036854775807`), signed(own), false},
		"an end of another magnitude": {with(""), claims(`,"exp":1e300`), signed(own), false},
		"in milliseconds":             {with(""), claims(fmt.Sprintf(`,"exp":%d`, 1000*(now+3600))), signed(own), false},
		"of another issuer":           {with(""), claims(`,"iss":"https://example.org/"`), signed(own), false},
		"encrypted":                   {`{"alg":"RSA-OAEP","enc":"A256GCM"}`, good, func([]byte) []byte { return []byte("x.y.z") }, false},
		"too long":                    {with(`,"x":"` + strings.Repeat("x", 64<<10) + `"`), good, signed(own), false},
	} {
		text := b64([]byte(c.head)) + "." + b64([]byte(c.body))
		token := text + "." + b64(c.sign([]byte(text)))
		if name == "encrypted" {
			token += "." + b64([]byte("y")) + "." + b64([]byte("z"))
		}
		r := httptest.NewRequest("GET", "/v1/ping", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		p, err := (&Door{Issuers: []string{i.URL}, Audience: "grid"}).Who(r)
		if (err == nil) != c.in {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if _, bad := json.Marshal(p); bad != nil {
			t.Errorf("%s: %v", name, bad)
		}
	}
	if n := led.Load(); n > 0 {
		t.Errorf("%d requests were sent elsewhere", n)
	}
}
