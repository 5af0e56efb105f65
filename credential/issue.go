package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"gridbroker/credential/voms"
)

// issueOptions describe a proxy to sign.
type issueOptions struct {
	now      time.Time
	begin    time.Time // zero: clockSlack before now
	lifetime time.Duration
	limited  bool
	pathLen  int // -1: no limit
	extra    []pkix.Extension
}

// clockSlack is how far in the past a proxy begins to be valid, for servers
// whose clock is behind.
const clockSlack = 5 * time.Minute

// SignDelegation signs a certificate request (PEM or DER) as an RFC 3820 proxy
// of this credential, valid for at most lifetime and never beyond it. It
// returns what the requester needs: the new certificate, then our chain, as
// PEM without keys. A limited credential gives a limited proxy.
func (x *X509) SignDelegation(csr []byte, lifetime time.Duration) ([]byte, error) {
	return x.signDelegation(csr, issueOptions{now: time.Now(), lifetime: lifetime, pathLen: -1})
}

func (x *X509) signDelegation(csr []byte, o issueOptions) ([]byte, error) {
	req, err := parseRequest(csr)
	if err != nil {
		return nil, fmt.Errorf("delegation request: %w", err)
	}
	cert, err := x.issue(req.PublicKey, o)
	if err != nil {
		return nil, err
	}
	return pemChain(append([]*x509.Certificate{cert}, x.chain...)), nil
}

// maxRequest bounds a certificate request, in bytes: of each name in it thirty times its bytes are kept, and
// one with a key of 16,384 bits has some four thousand.
const maxRequest = 64 << 10

func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	if len(data) > maxRequest {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(data), maxRequest)
	}
	if block, _ := pem.Decode(data); block != nil {
		if block.Type != "CERTIFICATE REQUEST" && block.Type != "NEW CERTIFICATE REQUEST" {
			return nil, fmt.Errorf("the server sent a %s", block.Type)
		}
		data = block.Bytes
	}
	req, err := x509.ParseCertificateRequest(data)
	if err != nil {
		return nil, err
	}
	if err := voms.Checkable(req.PublicKey); err != nil {
		return nil, err
	}
	return req, req.CheckSignature()
}

// issue signs a proxy for pub. RFC 3820 section 3.
func (x *X509) issue(pub crypto.PublicKey, o issueOptions) (*x509.Certificate, error) {
	if err := mayIssue(x, o.now); err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, err
	}
	serial.Add(serial, big.NewInt(1))
	subject, err := appendCN(x.chain[0].RawSubject, serial.String())
	if err != nil {
		return nil, err
	}
	info, err := infoExtension(o.limited || x.Limited(), o.pathLen)
	if err != nil {
		return nil, err
	}
	notBefore, notAfter := validity(x, o)
	template := &x509.Certificate{
		SerialNumber: serial, RawSubject: subject, NotBefore: notBefore, NotAfter: notAfter,
		KeyUsage: keyUsage(pub), ExtraExtensions: append([]pkix.Extension{info}, o.extra...),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, x.chain[0], pub, x.key)
	if err != nil {
		return nil, fmt.Errorf("sign a proxy: %w", err)
	}
	return x509.ParseCertificate(der)
}

// mayIssue refuses what no verifier would accept: a proxy of an expired
// credential, of a CA, of an old-format proxy, or below a path length of 0.
func mayIssue(x *X509, now time.Time) error {
	if f := x.checkTimes(now); f != nil && f.Severity == Problem {
		return f
	}
	if f := x.checkKind(); f != nil {
		return f
	}
	own := x.chain[0]
	if own.IsCA {
		return problem("x509.is-ca", x.path, "a CA certificate cannot issue proxies", subjectDN(own), "name your own certificate: --cert, X509_USER_CERT")
	}
	if own.KeyUsage != 0 && own.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return problem("x509.key-usage", x.path, "the certificate may not sign", "its key usage lacks digitalSignature", "ask your certificate authority for a certificate for people, or name another")
	}
	if k := kindOf(own); k == draftProxy || k == legacyProxy {
		return problem("x509.legacy-proxy", x.path, "the proxy is of an abandoned format", k.String(), "grid auth proxy")
	}
	for i, c := range x.chain {
		if info, err := proxyInfo(c); err == nil && info.PathLen >= 0 && info.PathLen <= i {
			return problem("x509.path-length", x.path, "the proxy may not be delegated further",
				fmt.Sprintf("path length %d", info.PathLen), "make a proxy without a path length")
		}
	}
	return nil
}

// validity keeps the proxy inside the life of its issuers.
func validity(x *X509, o issueOptions) (begin, end time.Time) {
	begin, end = o.begin, o.now.Add(o.lifetime)
	if begin.IsZero() {
		begin = o.now.Add(-clockSlack)
	}
	if b := x.NotBefore(); begin.Before(b) {
		begin = b
	}
	if e := x.NotAfter(); o.lifetime <= 0 || end.After(e) {
		end = e
	}
	return begin.UTC().Truncate(time.Second), end.UTC().Truncate(time.Second)
}

// keyUsage for a proxy: only RSA keys can encipher.
func keyUsage(pub crypto.PublicKey) x509.KeyUsage {
	if _, ok := pub.(*ecdsa.PublicKey); ok {
		return x509.KeyUsageDigitalSignature
	}
	return x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
}

// infoExtension is the critical ProxyCertInfo.
func infoExtension(limited bool, pathLen int) (pkix.Extension, error) {
	language := oidInheritAll
	if limited {
		language = oidLimitedPolicy
	}
	value, err := asn1.Marshal(proxyCertInfo{PathLen: pathLen, Policy: proxyPolicy{Language: language}})
	return pkix.Extension{Id: oidProxyInfo, Critical: true, Value: value}, err
}

// appendCN returns the name (DER) with one more CN at its end.
func appendCN(name []byte, cn string) ([]byte, error) {
	in := cryptobyte.String(name)
	var rdns cryptobyte.String
	if !in.ReadASN1(&rdns, cbasn1.SEQUENCE) || !in.Empty() {
		return nil, errors.New("malformed subject name")
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(rdns)
		b.AddASN1(cbasn1.SET, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1ObjectIdentifier(oidCommonName)
				b.AddASN1(cbasn1.PrintableString, func(b *cryptobyte.Builder) { b.AddBytes([]byte(cn)) })
			})
		})
	})
	return b.Bytes()
}

// pemChain writes certificates as PEM.
func pemChain(certs []*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}
