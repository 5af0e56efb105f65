package testbed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is a certificate authority made for one test.
type CA struct {
	t    testing.TB
	Cert *x509.Certificate
	Key  crypto.Signer
	Now  time.Time // certificates are valid around it
}

// Identity is a certificate with its key.
type Identity struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

var domain = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}

// Name is /DC=org/CN=cn.
func Name(cn string) pkix.Name {
	return pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{{Type: domain, Value: "org"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: cn}}}
}

// NewCA makes an authority named /DC=org/CN=cn; change, if not nil, alters its
// certificate before it is signed.
func NewCA(t testing.TB, cn string, now time.Time, change func(*x509.Certificate)) *CA {
	ca := &CA{t: t, Key: ecKey(t), Now: now}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: Name(cn), NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(9, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	if change != nil {
		change(template)
	}
	ca.Cert = ca.Sign(template, template, ca.Key.Public(), ca.Key)
	return ca
}

// OpenCA reads an authority of a testbed.
func OpenCA(t testing.TB, cert, key string, now time.Time) *CA {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{t: t, Cert: pair.Leaf, Key: pair.PrivateKey.(crypto.Signer), Now: now}
}

func ecKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Sign makes a certificate.
func (ca *CA) Sign(template, parent *x509.Certificate, pub crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	ca.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		ca.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		ca.t.Fatal(err)
	}
	return c
}

// Sub makes an authority below this one.
func (ca *CA) Sub(cn string) *CA {
	key, template := ecKey(ca.t), ca.Template(cn)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	return &CA{t: ca.t, Key: key, Now: ca.Now, Cert: ca.Sign(template, ca.Cert, key.Public(), ca.Key)}
}

// Issue makes an end entity's certificate, valid from a month ago for a year.
func (ca *CA) Issue(cn string, change func(*x509.Certificate)) Identity {
	ca.t.Helper()
	key := ecKey(ca.t)
	template := ca.Template(cn)
	if change != nil {
		change(template)
	}
	return Identity{ca.Sign(template, ca.Cert, key.Public(), ca.Key), key}
}

// Template is a certificate of /DC=org/CN=cn, not signed yet.
func (ca *CA) Template(cn string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: Name(cn), NotBefore: ca.Now.AddDate(0, -1, 0), NotAfter: ca.Now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
}

// Server makes a certificate for localhost, 127.0.0.1 and the given names.
func (ca *CA) Server(change func(*x509.Certificate)) tls.Certificate {
	id := ca.Issue("localhost", func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		if change != nil {
			change(c)
		}
	})
	return tls.Certificate{Certificate: [][]byte{id.Cert.Raw, ca.Cert.Raw}, PrivateKey: id.Key, Leaf: id.Cert}
}

// CRL makes a revocation list that names the serials.
func (ca *CA) CRL(this, next time.Time, revoked ...*big.Int) []byte {
	ca.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: this, NextUpdate: next}
	for _, s := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: s, RevocationTime: this})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, ca.Cert, ca.Key)
	if err != nil {
		ca.t.Fatal(err)
	}
	return der
}

// Install writes certificate, signing policy (for /DC=org/*) and revocation
// list into a directory of authorities; hash is the name's. It returns the
// path without extension.
func (ca *CA) Install(dir, hash, dn string) string {
	base := filepath.Join(dir, hash)
	WriteFile(ca.t, base+".0", PEM(ca.Cert), 0o644)
	policy := fmt.Sprintf("access_id_CA X509 '%s'\npos_rights globus CA:sign\ncond_subjects globus '\"/DC=org/*\"'\n", dn)
	WriteFile(ca.t, base+".signing_policy", []byte(policy), 0o644)
	WriteFile(ca.t, base+".r0", ca.CRL(ca.Now.AddDate(0, 0, -1), ca.Now.AddDate(0, 1, 0)), 0o644)
	return base
}

// PEM writes certificates.
func PEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// KeyPEM writes a private key as PKCS#8.
func KeyPEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// WriteFile writes a file with exactly this mode.
func WriteFile(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
