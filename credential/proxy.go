package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"gridbroker/credential/voms"
)

// ProxyOptions describe a proxy to make.
type ProxyOptions struct {
	Now      time.Time     // zero: the present
	Begin    time.Time     // when it begins to be valid; zero: 5 min before Now
	Lifetime time.Duration // 0: 12 h; never beyond the issuer's
	Limited  bool          // may not start jobs, by the field's convention
	PathLen  *int          // how many proxies may follow below; nil: no limit
	Key      string        // "rsa2048" (""), "rsa3072", "rsa4096", "ecdsa" (P-256), "ecdsa384", "ecdsa521"
	ACs      []*voms.AC    // VOMS attributes to carry
}

// defaultLifetime is what proxies live by the field's custom.
const defaultLifetime = 12 * time.Hour

// NewProxy makes a key and an RFC 3820 proxy for it, signed by this credential.
func (x *X509) NewProxy(o ProxyOptions) (*X509, error) {
	key, err := generateKey(o.Key)
	if err != nil {
		return nil, err
	}
	opts := issueOptions{now: o.Now, begin: o.Begin, lifetime: o.Lifetime, limited: o.Limited, pathLen: -1}
	if opts.now.IsZero() {
		opts.now = time.Now()
	}
	if opts.lifetime <= 0 {
		opts.lifetime = defaultLifetime
	}
	if o.PathLen != nil {
		opts.pathLen = *o.PathLen
	}
	if len(o.ACs) > 0 {
		ext, err := acExtension(o.ACs)
		if err != nil {
			return nil, err
		}
		opts.extra = append(opts.extra, ext)
	}
	cert, err := x.issue(key.Public(), opts)
	if err != nil {
		return nil, err
	}
	return NewX509(append([]*x509.Certificate{cert}, x.chain...), key, x.path)
}

func generateKey(kind string) (crypto.Signer, error) {
	switch kind {
	case "", "rsa2048":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "rsa3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "rsa4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ecdsa", "ecdsa256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ecdsa521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	}
	return nil, fmt.Errorf("no such kind of key: %q (%s)", kind, strings.Join(KeyKinds(), ", "))
}

// KeyKinds are the kinds of keys that [ProxyOptions] may name.
func KeyKinds() []string {
	return []string{"rsa2048", "rsa3072", "rsa4096", "ecdsa", "ecdsa384", "ecdsa521"}
}

// acExtension is the proxy extension that carries attribute certificates
// (GFD.182): SEQUENCE { SEQUENCE OF AttributeCertificate }.
func acExtension(acs []*voms.AC) (pkix.Extension, error) {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			for _, ac := range acs {
				b.AddBytes(ac.Raw)
			}
		})
	})
	value, err := b.Bytes()
	return pkix.Extension{Id: voms.OIDACSequence, Value: value}, err
}

// pem writes the credential as proxy files have it: certificate, key, chain.
// The caller clears the result.
func (x *X509) pem() ([]byte, error) {
	block, err := keyBlock(x.key)
	if err != nil {
		return nil, err
	}
	defer clear(block.Bytes)
	out := pemChain(x.chain[:1])
	secret := pem.EncodeToMemory(block)
	defer clear(secret)
	size := len(out) + len(secret)
	rest := pemChain(x.chain[1:])
	all := make([]byte, 0, size+len(rest)) // no growing: that would leave copies of the key
	return append(append(append(all, out...), secret...), rest...), nil
}

// keyBlock writes the key in the forms that all grid software reads.
func keyBlock(key crypto.Signer) (*pem.Block, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}, nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		return &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return &pem.Block{Type: "PRIVATE KEY", Bytes: der}, err
}

// Save writes the credential to a file with mode 0600, atomically.
func (x *X509) Save(path string) error {
	text, err := x.pem()
	if err != nil {
		return err
	}
	defer clear(text)
	if err := WriteSecret(path, text); err != nil {
		return problem("x509.unwritable", path, "cannot write the proxy", "", "choose another file: --out FILE, X509_USER_PROXY").because(err)
	}
	return nil
}
