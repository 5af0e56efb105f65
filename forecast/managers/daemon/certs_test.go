package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// authority makes certificates of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	return &authority{cert: cert, key: key}
}

// issue returns a host's certificate and its key, in DER.
func (a *authority) issue(t *testing.T) (cert, key []byte) {
	t.Helper()
	return a.issueFor(t, time.Hour)
}

// issueFor is issue of a certificate that runs out.
func (a *authority) issueFor(t *testing.T, life time.Duration) (cert, key []byte) {
	t.Helper()
	return a.issueAt(t, net.IPv4(127, 0, 0, 1), life)
}

// issueAt is issueFor of another host's.
func (a *authority) issueAt(t *testing.T, host net.IP, life time.Duration) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, IPAddresses: []net.IP{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if cert, err = x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key); err != nil {
		t.Fatal(err)
	}
	key, _ = x509.MarshalECPrivateKey(k)
	return cert, key
}

// tlsConfig returns what servers and clients use.
func tlsConfig(ca, cert, key []byte) (*tls.Config, error) {
	k, err := x509.ParseECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	root, err := x509.ParseCertificate(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	own := tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: k}
	cfg := TLS(func() *tls.Certificate { return &own }, func() Authorities { return only{pool} })
	cfg.Certificates = []tls.Certificate{own} // for tests that want to know it
	return cfg, nil
}

// believed are the authorities of a configuration.
func believed(cfg *tls.Config) func() Authorities {
	return func() Authorities { c, _ := cfg.GetConfigForClient(nil); return only{c.RootCAs} }
}

// only are authorities without revocation lists.
type only struct{ *x509.CertPool }

// Roots implements Authorities.
func (o only) Roots() *x509.CertPool { return o.CertPool }

// Check implements Authorities.
func (only) Check([][]*x509.Certificate) error { return nil }

// inForce are the authorities that a pointer points to at each time.
func inForce(p *atomic.Pointer[x509.CertPool]) func() Authorities {
	return func() Authorities { return only{p.Load()} }
}

func testServer(addr string, cfg *tls.Config, h http.Handler) (*http.Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := Server(cfg, h)
	go s.ServeTLS(l, "", "")
	return s, nil
}
