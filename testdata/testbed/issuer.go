package testbed

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Issuer makes bearer tokens for the testbed: JWTs signed with RS256
// (RFC 7519, RFC 7515) with claims of the WLCG token profile.
type Issuer struct {
	URL string // claim iss, with the final slash
	key *rsa.PrivateKey
}

const keyID = "testbed"

// OpenIssuer reads the signing key in dir, or makes one.
func OpenIssuer(dir, url string) (*Issuer, error) {
	file := filepath.Join(dir, "signing-key.pem")
	if text, err := os.ReadFile(file); err == nil {
		block, _ := pem.Decode(text)
		if block == nil {
			return nil, fmt.Errorf("%s: no PEM block", file)
		}
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		return &Issuer{URL: url, key: key}, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return &Issuer{URL: url, key: key}, os.WriteFile(file, text, 0o600)
}

// Token signs a token for the subject. Extra claims replace the usual ones,
// among them "scope" and "aud"; a negative life gives an expired token.
func (i *Issuer) Token(subject string, life time.Duration, extra map[string]any) (string, error) {
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "sub": subject, "jti": fmt.Sprint(now.UnixNano()), "wlcg.ver": "1.0",
		"iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix(), "exp": now.Add(life).Unix(),
		"aud":   "https://wlcg.cern.ch/jwt/v1/any",
		"scope": "compute.create compute.read compute.cancel compute.modify",
	}
	maps.Copy(claims, extra)
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := b64([]byte(`{"typ":"JWT","alg":"RS256","kid":"`+keyID+`"}`)) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	return text + "." + b64(sig), err
}

// Discovery is the OpenID Connect discovery document.
func (i *Issuer) Discovery() any {
	return map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "jwks.json", "token_endpoint": i.URL + "token",
		"authorization_endpoint": i.URL + "authorize", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
	}
}

// Keys is the JWK set (RFC 7517) with the public key.
func (i *Issuer) Keys() any {
	return map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": keyID,
		"n": b64(i.key.N.Bytes()), "e": b64(big.NewInt(int64(i.key.E)).Bytes()),
	}}}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ServeIssuer makes an issuer that answers over HTTP until the test has ended.
func ServeIssuer(t testing.TB) *Issuer {
	t.Helper()
	var iss *Issuer
	mux := http.NewServeMux()
	for path, document := range map[string]func() any{"/.well-known/openid-configuration": func() any { return iss.Discovery() }, "/jwks.json": func() any { return iss.Keys() }} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(document()) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var err error
	if iss, err = OpenIssuer(t.TempDir(), server.URL+"/"); err != nil {
		t.Fatal(err)
	}
	return iss
}
