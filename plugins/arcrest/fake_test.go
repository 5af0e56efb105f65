package arcrest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/credential"
)

// fake answers as A-REX does as long as the hook lets it: for faults that a
// real server does not produce on demand.
type fake struct {
	*httptest.Server
	pki  *pki
	hook func(w http.ResponseWriter, r *http.Request, body string) bool // true: answered

	mu    sync.Mutex
	seen  []string // "METHOD path?query" of every request
	heads []http.Header
	jobs  int
}

func newFake(t *testing.T, hook func(w http.ResponseWriter, r *http.Request, body string) bool) *fake {
	t.Helper()
	f := newUnstartedFake(t, hook)
	f.StartTLS()
	return f
}

func newUnstartedFake(t *testing.T, hook func(w http.ResponseWriter, r *http.Request, body string) bool) *fake {
	t.Helper()
	f := &fake{pki: newPKI(t), hook: hook}
	f.Server = httptest.NewUnstartedServer(f)
	f.Server.TLS = f.pki.server(t, time.Now().Add(time.Hour))
	f.Server.Config.ErrorLog = quiet
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
	f.heads = append(f.heads, r.Header.Clone())
	f.mu.Unlock()
	if f.hook == nil || !f.hook(w, r, string(body)) {
		f.answer(w, r, string(body))
	}
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request, body string) {
	switch action := r.URL.Query().Get("action"); {
	case r.URL.Path == "/arex/rest":
		fmt.Fprint(w, "<versions><version>1.0</version><version>1.1</version></versions>")
	case strings.HasSuffix(r.URL.Path, "/delegations") && action == "new":
		w.Header().Set("Location", r.URL.Path+"/d1")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(f.pki.request())
	case strings.HasSuffix(r.URL.Path, "/jobs") && action == "new":
		f.create(w, strings.Count(body, "<ActivityDescription "))
	case strings.HasSuffix(r.URL.Path, "/jobs") && action != "":
		echo(w, body, "<status-code>202</status-code><reason>Accepted</reason>")
	}
}

func (f *fake) create(w http.ResponseWriter, n int) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, "<jobs>")
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.jobs++
		fmt.Fprintf(w, "<job><status-code>201</status-code><reason>Created</reason><id>job%d</id></job>", f.jobs)
	}
	fmt.Fprint(w, "</jobs>")
}

// echo answers a bulk request with the same for every id.
func echo(w http.ResponseWriter, body, item string) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, strings.ReplaceAll(body, "</job>", item+"</job>"))
}

func (f *fake) count(part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

func (f *fake) url() string { return f.URL + "/arex" }

// backend is one that trusts the fake and is known to it by certificate.
func (f *fake) backend(t *testing.T) *Backend { return f.pki.backend(t) }

// pki is a CA with a directory of its own and one user.
type pki struct {
	dir  string
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey
	user credential.Options
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{dir: t.TempDir(), key: newKey(t)}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA " + t.Name()}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, p.key.Public(), p.key)
	check(t, err)
	p.ca, err = x509.ParseCertificate(der)
	check(t, err)
	write(t, filepath.Join(p.dir, "ca.pem"), pemBlock("CERTIFICATE", der))
	p.user = p.person(t, time.Now().Add(time.Hour))
	return p
}

// person makes a user's certificate.
func (p *pki) person(t *testing.T, end time.Time) credential.Options {
	t.Helper()
	der, key := p.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "User"}, NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature})
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	dir := t.TempDir()
	o := credential.Options{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CertDir: p.dir, CAs: credential.GridCA, NoToken: true}
	write(t, o.Cert, pemBlock("CERTIFICATE", der))
	write(t, o.Key, pemBlock("PRIVATE KEY", raw))
	return o
}

func (p *pki) sign(t *testing.T, tmpl *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key := newKey(t)
	tmpl.SerialNumber, tmpl.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-48*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, p.ca, key.Public(), p.key)
	check(t, err)
	return der, key
}

// server is the TLS set-up of a host whose certificate ends then.
func (p *pki) server(t *testing.T, end time.Time) *tls.Config {
	t.Helper()
	der, key := p.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "host"}, NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, ClientAuth: tls.RequestClientCert}
}

func (p *pki) backend(t *testing.T) *Backend {
	t.Helper()
	set, err := credential.Discover(credential.Env{UID: os.Getuid()}, p.user)
	check(t, err)
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, Timeout: 5 * time.Second})
	t.Cleanup(func() { b.Close() })
	return b
}

// request is what A-REX asks to be signed; it has an empty subject.
func (p *pki) request() []byte {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, p.key)
	if err != nil {
		panic(err)
	}
	return pemBlock("CERTIFICATE REQUEST", der)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tlsServer(c net.Conn, cfg *tls.Config) net.Conn { return tls.Server(c, cfg) }
