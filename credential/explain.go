package credential

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"gridbroker/credential/voms"
)

// Explain turns the failure of a connection to host into a Finding, where it
// is about certificates; nil where it is about something else. Set may be nil.
func (s *Set) Explain(host string, err error) *Finding {
	if f, ok := errors.AsType[*Finding](err); ok {
		return f
	}
	var t *Trust
	var x *X509
	if s != nil {
		t, x = s.Trust, s.X509
	}
	if f := explainServer(t, host, err); f != nil {
		return f
	}
	if code, ok := RemoteAlert(err); ok && code == 40 && s != nil && x == nil { // TLS 1.2 has no alert for that
		err = fmt.Errorf("%w (%w)", tls.AlertError(116), err)
	}
	return explainAlert(x, host, err)
}

// explainTLS does the same for a VOMS server.
func explainTLS(e *voms.ServerError) *Finding {
	if e == nil || e.Err == nil {
		return nil
	}
	var none *Set
	return none.Explain(e.Server.String(), e.Err)
}

// explainServer explains why we do not believe the server.
func explainServer(t *Trust, host string, err error) *Finding {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		few := e.Certificate.DNSNames[:min(len(e.Certificate.DNSNames), 10)]
		names := strings.Join(few, ", ")
		if more := len(e.Certificate.DNSNames) - len(few); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		if names == "" {
			names = "no DNS name at all (its subject is " + subjectDN(e.Certificate) + ")"
		}
		return problem("server.name", host, "the server's certificate is for another name", "it names "+names,
			"use the name in the certificate, or ask the site to renew it with this name").because(err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		f := problem("server.unknown-ca", host, "the server's certificate is from an authority that is not trusted", "",
			"install that CA's certificate (IGTF, or the site's), or set X509_CERT_DIR").because(err)
		if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(e.UnverifiedCertificates) > 0 {
			f.Why = "issued by " + issuerDN(e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1])
		}
		if t != nil && t.dir != "" {
			f.Why += "; looked in " + t.dir
		}
		return f
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return problem("server.expired", host, "the server's certificate is not valid now",
				fmt.Sprintf("it is valid from %s to %s", e.Cert.NotBefore.UTC().Format(dateTime), e.Cert.NotAfter.UTC().Format(dateTime)),
				"if this machine's clock is right, tell the site").because(err)
		}
		return problem("server.invalid", host, "the server's certificate is not valid", "", "tell the site").because(err)
	}
	return nil
}

const dateTime = "2006-01-02 15:04 UTC"

// alerts are the TLS alerts (RFC 8446 section 6.2) with which servers refuse
// a client's certificate.
var alerts = map[tls.AlertError]struct{ id, what, mend string }{
	42:  {"refused.bad-certificate", "the server does not accept our certificate", "compare the clocks: grid auth doctor https://"},
	43:  {"refused.unsupported", "the server does not support certificates of this kind", "grid auth proxy --key rsa2048"},
	44:  {"refused.revoked", "the server says our certificate is revoked", "ask your certificate authority"},
	45:  {"refused.expired", "the server says our certificate has expired", "grid auth proxy; if it has not, compare the clocks"},
	46:  {"refused.certificate-unknown", "the server does not accept our certificate", "see what is wrong with it: grid auth doctor https://"},
	48:  {"refused.unknown-ca", "the server does not trust the authority that issued our certificate", "ask the site to install that CA"},
	49:  {"refused.access-denied", "the server denies access to our certificate", "ask the site whether your VO or you are let in"},
	116: {"refused.certificate-required", "the server wants a certificate", "grid auth proxy"},
}

// explainAlert explains why the server does not believe us.
func explainAlert(x *X509, host string, err error) *Finding {
	code, ok := RemoteAlert(err)
	if !ok {
		return nil
	}
	a, ok := alerts[code]
	if code == 47 && x != nil && isECDSA(x) { // ARC 7 accepts the curve P-521 alone
		a, ok = alerts[43], true
		a.mend = "grid auth proxy --key rsa2048 (or ecdsa521)"
	}
	if !ok {
		return nil
	}
	if strings.HasSuffix(a.mend, "https://") {
		a.mend += strings.TrimPrefix(host, "https://")
	}
	f := problem(a.id, host, a.what, "", a.mend).because(err)
	f.alert = code
	f.Why = code.Error()
	if x != nil {
		f.Why = x.Subject() + ", issued by " + x.Issuer() + ": " + code.Error()
	}
	if code == 42 && x != nil {
		f.Why += fmt.Sprintf("; servers say so too when by their clock it begins in the future: it began at %s", x.NotBefore().UTC().Format(dateTime))
	}
	return f
}

func isECDSA(x *X509) bool {
	_, ok := x.key.(*ecdsa.PrivateKey)
	return ok
}
