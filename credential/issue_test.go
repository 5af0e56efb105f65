package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"
)

// testCA is a certificate authority for tests.
type testCA struct {
	cert *x509.Certificate
	key  crypto.Signer
}

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testName(cn string) pkix.Name {
	return pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: []int{0, 9, 2342, 19200300, 100, 1, 25}, Value: "org"}, {Type: oidCommonName, Value: cn},
	}}
}

func newCA(t testing.TB, cn string) *testCA {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: testName(cn), NotBefore: testNow.AddDate(-1, 0, 0),
		NotAfter: testNow.AddDate(9, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	return &testCA{sign(t, template, template, key.Public(), key), key}
}

func sign(t testing.TB, template, parent *x509.Certificate, pub crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// user makes a user's credential, valid for a year; change may alter it.
func (ca *testCA) user(t testing.TB, cn string, change func(*x509.Certificate)) *X509 {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: testName(cn), NotBefore: testNow.AddDate(0, -1, 0),
		NotAfter: testNow.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
	if change != nil {
		change(template)
	}
	x, err := NewX509([]*x509.Certificate{sign(t, template, ca.cert, key.Public(), ca.key)}, key, "test")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// request is a delegation request as A-REX makes them: no subject.
func request(t testing.TB) ([]byte, crypto.Signer) {
	t.Helper()
	key := newKey(t)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return csr, key
}

func TestSignDelegation(t *testing.T) {
	user := newCA(t, "CA").user(t, "Alice", nil)
	csr, key := request(t)
	text, err := user.signDelegation(csr, issueOptions{now: testNow, lifetime: 12 * time.Hour, pathLen: -1})
	if err != nil {
		t.Fatal(err)
	}
	certs, _, err := parsePEM("answer", text, nil)
	if err != nil || len(certs) != 2 {
		t.Fatalf("%d certificates, %v", len(certs), err)
	}
	x, err := NewX509(certs, key, "delegated")
	if err != nil {
		t.Fatal(err)
	}
	if x.Identity() != "/DC=org/CN=Alice" || kindOf(certs[0]) != rfcProxy || len(x.Chain()) != 2 {
		t.Errorf("identity %s, kind %v, chain of %d", x.Identity(), kindOf(certs[0]), len(x.Chain()))
	}
	if got := x.NotAfter(); !got.Equal(testNow.Add(12 * time.Hour)) {
		t.Errorf("expires %v", got)
	}
	if got := x.NotBefore(); !got.Equal(testNow.Add(-clockSlack)) {
		t.Errorf("begins %v", got)
	}
}

func TestDelegationNeverOutlivesIssuer(t *testing.T) {
	user := newCA(t, "CA").user(t, "Alice", func(c *x509.Certificate) { c.NotAfter = testNow.Add(time.Hour) })
	csr, _ := request(t)
	text, err := user.signDelegation(csr, issueOptions{now: testNow, lifetime: 24 * time.Hour, pathLen: -1})
	if err != nil {
		t.Fatal(err)
	}
	certs, _, _ := parsePEM("answer", text, nil)
	if !certs[0].NotAfter.Equal(testNow.Add(time.Hour)) {
		t.Errorf("expires %v, its issuer %v", certs[0].NotAfter, testNow.Add(time.Hour))
	}
}

func TestDelegationRequestIsChecked(t *testing.T) {
	user := newCA(t, "CA").user(t, "Alice", nil)
	csr, _ := request(t)
	csr[len(csr)-1] ^= 1
	if _, err := user.SignDelegation(csr, time.Hour); err == nil {
		t.Error("a request with a wrong signature was signed")
	}
	if _, err := user.SignDelegation([]byte("hello"), time.Hour); err == nil {
		t.Error("garbage was signed")
	}
}

// A request without end, of a name with a million parts, is not read.
func TestGiantRequests(t *testing.T) {
	user := newCA(t, "CA").user(t, "Alice", nil)
	key := newKey(t)
	name := pkix.Name{}
	for range 20_000 {
		name.ExtraNames = append(name.ExtraNames, pkix.AttributeTypeAndValue{Type: oidCommonName, Value: "x"})
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.SignDelegation(csr, time.Hour); err == nil || !strings.Contains(err.Error(), "bytes, more than") {
		t.Errorf("a request of %d bytes: %v", len(csr), err)
	}
}
