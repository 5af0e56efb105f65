package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gridbroker/credential/voms"
)

// X509 is a certificate chain with the private key of its first certificate:
// a proxy with its issuers, or a user's certificate.
type X509 struct {
	chain []*x509.Certificate // own first, then its issuers, without the root
	key   crypto.Signer
	path  string
}

// NewX509 joins a chain (own certificate first) and its key; path says in
// messages where they come from.
func NewX509(chain []*x509.Certificate, key crypto.Signer, path string) (*X509, error) {
	if len(chain) == 0 {
		return nil, problem("x509.malformed", path, "there is no certificate", "", "name a file that holds one (--cert, X509_USER_CERT)")
	}
	if key == nil {
		return nil, problem("x509.key-missing", path, "there is no private key", "", "name the key's file (--key-file, X509_USER_KEY), or make a proxy: grid auth proxy")
	}
	own, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !own.Equal(chain[0].PublicKey) {
		return nil, problem("x509.key-mismatch", path, "the private key does not belong to the certificate",
			"certificate of "+subjectDN(chain[0]), "name the key that was made with this certificate (X509_USER_KEY)")
	}
	return &X509{chain: order(chain), key: key, path: path}, nil
}

// order puts each issuer after its certificate and leaves out roots and
// certificates that do not belong to the chain.
func order(certs []*x509.Certificate) []*x509.Certificate {
	out := certs[:1:1]
	for range certs {
		last := out[len(out)-1]
		if string(last.RawIssuer) == string(last.RawSubject) {
			break
		}
		for _, c := range certs[1:] {
			root := string(c.RawIssuer) == string(c.RawSubject)
			if !root && string(c.RawSubject) == string(last.RawIssuer) && signedBy(last, c) {
				out = append(out, c)
				break
			}
		}
		if out[len(out)-1] == last {
			break
		}
	}
	return out
}

// signedBy reports whether parent's key signed c. Unlike
// x509.CheckSignatureFrom it does not ask for a CA: proxies are issued by
// users.
func signedBy(c, parent *x509.Certificate) bool {
	return parent.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// Path is the file the credential came from.
func (x *X509) Path() string { return x.path }

// Chain returns the certificates, the own one first, without the root.
func (x *X509) Chain() []*x509.Certificate { return x.chain }

// Certificate returns the credential as crypto/tls wants it.
func (x *X509) Certificate() tls.Certificate {
	c := tls.Certificate{PrivateKey: x.key, Leaf: x.chain[0]}
	for _, cert := range x.chain {
		c.Certificate = append(c.Certificate, cert.Raw)
	}
	return c
}

// Subject is the DN of the first certificate, in slash form; for a proxy it
// ends in the proxy's own CN.
func (x *X509) Subject() string { return subjectDN(x.chain[0]) }

// Identity is the DN of the person: the subject of the certificate that is no
// proxy.
func (x *X509) Identity() string { return subjectDN(x.entity()) }

// Issuer is the DN of the authority that issued the person's certificate.
func (x *X509) Issuer() string { return issuerDN(x.entity()) }

// entity is the end entity certificate: the first that is not a proxy.
func (x *X509) entity() *x509.Certificate { return endEntity(x.chain) }

func endEntity(chain []*x509.Certificate) *x509.Certificate {
	for _, c := range chain {
		if kindOf(c) == notProxy {
			return c
		}
	}
	return chain[len(chain)-1]
}

// IsProxy reports whether this is a proxy of any kind.
func (x *X509) IsProxy() bool { return kindOf(x.chain[0]) != notProxy }

// Limited reports whether a proxy of the chain is limited: services refuse to
// start jobs for it.
func (x *X509) Limited() bool { return limited(x.chain) }

func limited(chain []*x509.Certificate) bool {
	for _, c := range chain {
		if isLimited(c) {
			return true
		}
	}
	return false
}

// NotAfter is when the first certificate of the chain expires.
func (x *X509) NotAfter() time.Time {
	return slices.MinFunc(x.chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
}

// NotBefore is when the whole chain begins to be valid.
func (x *X509) NotBefore() time.Time {
	return slices.MaxFunc(x.chain, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) }).NotBefore
}

// EntityEnd is when the person's own certificate expires.
func (x *X509) EntityEnd() time.Time { return x.entity().NotAfter }

// ACs returns the VOMS attribute certificates of the nearest proxy that has
// any. Malformed ones are an error.
func (x *X509) ACs() ([]*voms.AC, error) {
	for _, c := range x.chain {
		if acs, err := voms.FromCertificate(c); err != nil || len(acs) > 0 {
			return acs, err
		}
	}
	return nil, nil
}

// FQANs lists the VOMS attributes as the proxy states them, not verified, the
// primary first; "/Role=NULL" and capabilities are dropped.
func (x *X509) FQANs() []string {
	acs, _ := x.ACs()
	var all []string
	for _, ac := range acs {
		all = append(all, ac.FQANs...)
	}
	return all
}

// AttributesEnd is when the first of the VOMS attributes of a credential expires; zero: it has none.
func AttributesEnd(x *X509) (end time.Time) {
	acs, _ := x.ACs()
	for _, ac := range acs {
		if end.IsZero() || ac.NotAfter.Before(end) {
			end = ac.NotAfter
		}
	}
	return end
}

// VO is the virtual organisation of the first attribute certificate; "" when
// there is none.
func (x *X509) VO() string {
	if acs, _ := x.ACs(); len(acs) > 0 {
		return acs[0].VO
	}
	return ""
}

// What NamedVOs lists: so many, with names of so many bytes.
const (
	maxNamed  = 20
	maxVOName = 255
)

// NamedVOs are the VOs that a credential names, whether or not somebody believes that: by them its owner tells his own
// apart. Of one that names none, or none by text, it is "" alone.
func NamedVOs(x *X509) []string {
	acs, _ := x.ACs()
	var list []string
	for _, ac := range acs {
		odd := len(ac.VO) > maxVOName || !utf8.ValidString(ac.VO) || strings.ContainsFunc(ac.VO, unicode.IsControl)
		if !odd && !slices.Contains(list, ac.VO) {
			list = append(list, ac.VO)
		}
	}
	if len(list) == 0 {
		return []string{""}
	}
	return list[:min(len(list), maxNamed)]
}

// check lists what is wrong with a credential that could be read.
func (x *X509) check(now time.Time) []Finding {
	if x == nil {
		return nil
	}
	var fs []Finding
	if f := x.checkTimes(now); f != nil {
		fs = append(fs, *f)
	}
	for _, c := range x.chain {
		if k := kindOf(c); k == legacyProxy || k == draftProxy {
			fs = append(fs, *problem("x509.legacy-proxy", x.path, "the proxy is of an abandoned format", k.String(), "grid auth proxy"))
			break
		}
	}
	if f := x.checkKind(); f != nil {
		fs = append(fs, *f)
	}
	fs = append(fs, checkStrength(x)...)
	if x.Limited() {
		fs = append(fs, Finding{ID: "x509.limited", Severity: Warning, Subject: x.path, What: "the proxy is limited",
			Why: "services built on Globus start no jobs for limited proxies; ARC 6 and 7 do", Mend: "grid auth proxy"})
	}
	return append(fs, checkACs(x, now)...)
}

func (x *X509) checkTimes(now time.Time) *Finding {
	for _, c := range x.chain {
		if now.After(c.NotAfter) {
			mend := "grid auth proxy"
			if kindOf(c) == notProxy {
				mend = "ask your certificate authority for a new certificate"
			}
			return problem("x509.expired", x.path, "expired "+Span(now.Sub(c.NotAfter))+" ago", subjectDN(c), mend)
		}
		if now.Before(c.NotBefore) {
			return problem("x509.not-yet-valid", x.path, "not valid for another "+Span(c.NotBefore.Sub(now)), subjectDN(c),
				"compare this machine's clock with the time elsewhere: grid auth doctor")
		}
	}
	if left := x.NotAfter().Sub(now); left < time.Hour {
		return &Finding{ID: "x509.expires-soon", Severity: Warning, Subject: x.path, What: "expires in " + Span(left), Mend: "grid auth proxy"}
	}
	return nil
}

// checkKind refuses keys that the grid's libraries cannot use, in the own
// certificate or in one that has signed it.
func (x *X509) checkKind() *Finding {
	for _, c := range x.chain {
		switch c.PublicKey.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey:
		default:
			return problem("x509.key-kind", x.path, "grid services do not take this kind of key", subjectDN(c)+" has a key for "+c.PublicKeyAlgorithm.String(),
				"ask your certificate authority for a certificate with an RSA or ECDSA key")
		}
	}
	return nil
}

// checkStrength warns of what servers with current OpenSSL refuse, or already
// GnuTLS and Go: SHA-1 and MD5 signatures, RSA keys below 2048 bits.
func checkStrength(x *X509) []Finding {
	for _, c := range x.chain {
		why := ""
		switch c.SignatureAlgorithm {
		case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1:
			why = "it is signed with " + c.SignatureAlgorithm.String()
		}
		if k, ok := c.PublicKey.(*rsa.PublicKey); ok && k.N.BitLen() < 2048 {
			why = fmt.Sprintf("its key has %d bits", k.N.BitLen())
		}
		if why == "" {
			continue
		}
		mend := "grid auth proxy"
		if kindOf(c) == notProxy {
			mend = "ask your certificate authority for a new certificate"
		}
		return []Finding{{ID: "x509.weak", Severity: Warning, Subject: x.path, What: "the cryptography is too weak for most servers", Why: subjectDN(c) + ": " + why, Mend: mend}}
	}
	return nil
}

func checkACs(x *X509, now time.Time) []Finding {
	acs, err := x.ACs()
	if err != nil {
		return []Finding{*problem("voms.malformed", x.path, "the VOMS attributes cannot be read", "", "grid auth proxy --voms VO").because(err)}
	}
	var fs []Finding
	for _, ac := range acs {
		if now.After(ac.NotAfter) {
			fs = append(fs, *problem("voms.expired", x.path, "the attributes of "+ac.VO+" expired "+Span(now.Sub(ac.NotAfter))+" ago",
				"the proxy itself may live longer than they do", "grid auth proxy --voms "+ac.VO))
		} else if left := ac.NotAfter.Sub(now); left < time.Hour && x.NotAfter().After(ac.NotAfter) {
			fs = append(fs, Finding{ID: "voms.expires-soon", Severity: Warning, Subject: x.path, What: "the attributes of " + ac.VO + " expire in " + Span(left),
				Why: "the proxy itself lives longer", Mend: "grid auth proxy --voms " + ac.VO})
		}
	}
	return fs
}

// Span writes a duration, without its sign, as a person would: "2 d 3 h", "5 min".
func Span(d time.Duration) string {
	switch d = d.Abs(); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}
