package central_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
	"gridbroker/testdata/testbed"
)

// secured is a scheduler over TLS, and a user with a certificate.
func secured(t *testing.T, set func(url string, s *credential.Set), answer http.HandlerFunc) (*central.Backend, string) {
	t.Helper()
	dir, ca := t.TempDir(), testbed.NewCA(t, "Test CA", time.Now(), nil)
	ca.Install(dir, "ca", "/DC=org/CN=Test CA")
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	alice := ca.Issue("Alice", nil)
	x, err := credential.NewX509([]*x509.Certificate{alice.Cert}, alice.Key, "test")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	back, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) {
		s := &credential.Set{X509: x, Trust: trust}
		set(server.URL, s)
		return s, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { back.(*central.Backend).Close() })
	return back.(*central.Backend), strings.Replace(server.URL, "https", "grid", 1)
}

// Who shows his certificate, as his token is for others, delegates: his jobs wait for good else. Who shows a token does not.
func TestDelegatesWhoShowsNoToken(t *testing.T) {
	for _, audience := range []string{"https://elsewhere.example.org", ""} {
		var asked []string
		want := audience != ""
		b, url := secured(t, func(url string, s *credential.Set) {
			s.Token = tokenOf(t, "alice", cmp.Or(audience, url))
			s.Minter = minting(func(string) (*credential.Token, error) {
				t.Error("an issuer is asked")
				return nil, errors.New("it does not answer")
			})
		}, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			switch {
			case (r.Header.Get("Authorization") != "") == want:
				t.Errorf("%s is shown %.10q", r.URL.Path, r.Header.Get("Authorization"))
			case r.URL.Path == "/v1/delegation" && r.Method == "POST":
				json.NewEncoder(w).Encode(map[string]string{"id": "1", "csr": request(t)})
			case r.URL.Path == "/v1/jobs":
				io.WriteString(w, `{"jobs":[{"key":"a","id":"1"}]}`)
			default:
				io.WriteString(w, "{}")
			}
		})
		if r := b.Submit(t.Context(), requests(url, "a"), nil)[0]; r.Err != nil {
			t.Error(r.Err)
		}
		if got := slices.Contains(asked, "PUT /v1/delegation"); got != want {
			t.Errorf("with a token for %q it asked %q", audience, asked)
		}
	}
}

// request is a request for a certificate.
func request(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
}

// minting gives tokens by a login.
type minting func(audience string) (*credential.Token, error)

func (m minting) Mint(_ context.Context, audience string, _ []string) (*credential.Token, error) {
	return m(audience)
}

// A scheduler is shown the token that a login gives for it, where the one at hand is for others; and each is asked for once.
func TestTokenOfALogin(t *testing.T) {
	minted, shown := 0, ""
	now := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		io.WriteString(w, `{"interface":"org.gridbroker.scheduler","let_in":true}`)
	}))
	t.Cleanup(server.Close)
	token := tokenOf(t, "alice", server.URL)
	back, err := central.Open(plugins.Config{Now: func() time.Time { return now }, Credentials: func() (*credential.Set, error) {
		return &credential.Set{Token: tokenOf(t, "alice", "https://elsewhere.example.org"), Minter: minting(func(audience string) (*credential.Token, error) {
			minted++
			return token, nil
		})}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := back.(*central.Backend)
	t.Cleanup(func() { b.Close() })
	for range 3 {
		if _, err := b.Ping(t.Context(), strings.Replace(server.URL, "http", "grid+http", 1)); err != nil || shown != token.Raw() {
			t.Errorf("shown %.20q, %v", shown, err)
		}
		now = now.Add(time.Minute)
	}
	if minted != 1 {
		t.Errorf("the issuer was asked %d times", minted)
	}
}

// A token that stays keeps its connection, however often it is looked for; another one is shown in a connection of its own.
func TestConnectionStaysWithItsToken(t *testing.T) {
	now, from := time.Now(), map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		io.WriteString(w, `{"interface":"org.gridbroker.scheduler","let_in":true}`)
	}))
	t.Cleanup(server.Close)
	user := "alice"
	back, err := central.Open(plugins.Config{Now: func() time.Time { return now }, Credentials: func() (*credential.Set, error) {
		return &credential.Set{Token: tokenOf(t, user, server.URL)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := back.(*central.Backend)
	t.Cleanup(func() { b.Close() })
	for turn, want := range []int{1, 1, 1, 2, 2} {
		if turn == 3 {
			user = "alice2"
		}
		if _, err := b.Ping(t.Context(), strings.Replace(server.URL, "http", "grid+http", 1)); err != nil || len(from) != want {
			t.Errorf("question %d: %d connections, want %d, %v", turn, len(from), want, err)
		}
		now = now.Add(time.Minute)
	}
}
