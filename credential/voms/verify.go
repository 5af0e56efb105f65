package voms

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// VerifyError says why an attribute certificate is not believed.
type VerifyError struct {
	Code string // stable: "expired", "holder", "signature", ...
	VO   string
	Said string
	Err  error
}

// Error implements error.
func (e *VerifyError) Error() string {
	s := "VOMS attributes of " + e.VO + ": " + e.Said
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *VerifyError) Unwrap() error { return e.Err }

// Verifier checks attribute certificates by the field's rules.
type Verifier struct {
	Dir   string                          // vomsdir, with VO/HOST.lsc
	Now   time.Time                       // the time to check for
	Chain func([]*x509.Certificate) error // checks the server's chain against the trusted CAs
	Hosts []string                        // names of the host they are shown to; none: any
}

var algorithms = map[string]x509.SignatureAlgorithm{
	asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}.String(): x509.SHA256WithRSA,
	asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}.String(): x509.SHA384WithRSA,
	asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}.String(): x509.SHA512WithRSA,
	asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}.String():   x509.ECDSAWithSHA256,
	asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}.String():   x509.ECDSAWithSHA384,
	asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}.String():   x509.ECDSAWithSHA512,
}

// Algorithm returns the signature algorithm with this identifier, if it is one
// that is accepted: SHA-2 with RSA or ECDSA.
func Algorithm(id asn1.ObjectIdentifier) (x509.SignatureAlgorithm, bool) {
	a, ok := algorithms[id.String()]
	return a, ok
}

// Verify checks that the attribute certificate was given to holder (the end
// entity certificate, no proxy) by a server that vomsdir lists, and is valid.
// The error is a *VerifyError.
func (v Verifier) Verify(ac *AC, holder *x509.Certificate) error {
	fail := func(code, said string, err error) error { return &VerifyError{code, ac.VO, said, err} }
	if v.Now.Before(ac.NotBefore) {
		return fail("not-yet-valid", "not valid before "+ac.NotBefore.UTC().Format(time.RFC3339), nil)
	}
	if v.Now.After(ac.NotAfter) {
		return fail("expired", "expired at "+ac.NotAfter.UTC().Format(time.RFC3339), nil)
	}
	if ac.HolderSerial.Cmp(holder.SerialNumber) != 0 || !SameDN(ac.HolderIssuer, DN(holder.RawIssuer)) {
		return fail("holder", fmt.Sprintf("given to the certificate with serial %X of %s, not to %s", ac.HolderSerial, ac.HolderIssuer, DN(holder.RawSubject)), nil)
	}
	if len(ac.criticalID) > 0 {
		return fail("critical", "critical extension "+ac.criticalID[0]+" is not known", nil)
	}
	if len(v.Hosts) > 0 && len(ac.Targets) > 0 && !slices.ContainsFunc(ac.Targets, func(t string) bool { return slices.Contains(v.Hosts, t) }) {
		return fail("target", fmt.Sprintf("meant for %q, not for %q", ac.Targets, v.Hosts), nil)
	}
	if err := v.issuer(ac, fail); err != nil {
		return err
	}
	algorithm, ok := Algorithm(ac.algorithm)
	if !ok {
		return fail("algorithm", "signed with an algorithm that is not accepted: "+ac.algorithm.String(), nil)
	}
	if err := ac.Certs[0].CheckSignature(algorithm, ac.rawInfo, ac.signature); err != nil {
		return fail("signature", "not signed by "+ac.Issuer+", or altered afterwards", err)
	}
	if said := badFQAN(ac); said != "" {
		return fail("fqan", said, nil)
	}
	return nil
}

// badFQAN says what is wrong with an attribute; "" where all are well. A server speaks for the groups of its own VO
// alone: for which VO it speaks is what vomsdir says of it.
func badFQAN(ac *AC) string {
	for _, f := range ac.FQANs {
		if !utf8.ValidString(f) || strings.ContainsFunc(f, unicode.IsControl) {
			return fmt.Sprintf("one is %.80q, which has control characters or is no text", f)
		}
		if f != "/"+ac.VO && !strings.HasPrefix(f, "/"+ac.VO+"/") {
			return fmt.Sprintf("one is %.80q, which is not of that VO", f)
		}
	}
	return ""
}

// issuer checks who signed: the chain in the AC, the LSC file, the CAs.
func (v Verifier) issuer(ac *AC, fail func(code, said string, err error) error) error {
	if len(ac.Certs) == 0 {
		return fail("no-certificate", "they carry no certificate of their server (an old format)", nil)
	}
	if !SameDN(DN(ac.Certs[0].RawSubject), ac.Issuer) {
		return fail("issuer", "issued by "+ac.Issuer+" but carry the certificate of "+DN(ac.Certs[0].RawSubject), nil)
	}
	if !Unmistakable(ac.Certs[0].RawSubject) {
		return fail("issuer", "the name of their server, "+ac.Issuer+", may be read as another's", nil)
	}
	host, _, err := net.SplitHostPort(ac.Server)
	if err != nil {
		host = ac.Server
	}
	lsc, file, err := lscFor(v.Dir, ac.VO, host)
	if errors.Is(err, fs.ErrNotExist) {
		return fail("no-lsc", "nothing says which certificate the server must have: there is no "+file, nil)
	} else if err != nil {
		return fail("lsc", "the list of its certificates cannot be read", err)
	}
	if !lsc.Match(ac.Certs) {
		return fail("lsc-mismatch", "signed by "+ac.Issuer+" (issuer "+DN(ac.Certs[len(ac.Certs)-1].RawIssuer)+"), which "+file+" does not list", nil)
	}
	if err := v.Chain(ac.Certs); err != nil {
		return fail("server-chain", "the server's certificate is not trusted", err)
	}
	return nil
}
