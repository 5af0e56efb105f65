package credential

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"gridbroker/credential/voms"
)

// VerifyChain checks a chain that may begin with proxies (own certificate
// first): the proxies by RFC 3820 section 4, the rest against the directory's
// authorities, signing policies and CRLs. The error is a *Finding.
func (t *Trust) VerifyChain(chain []*x509.Certificate) error {
	if len(chain) > maxCerts {
		return problem("x509.invalid", subjectDN(chain[0]), "the chain is too long", fmt.Sprintf("it has %d certificates, and no more than %d are looked at", len(chain), maxCerts), "grid auth proxy")
	}
	entity := 0
	for entity < len(chain) && kindOf(chain[entity]) != notProxy {
		entity++
	}
	if entity == len(chain) {
		return problem("x509.incomplete", subjectDN(chain[0]), "the chain has no certificate of a person", "it holds proxies only", "grid auth proxy")
	}
	if err := verifyEntity(t, chain[entity], chain[entity+1:]); err != nil {
		return err
	}
	for i := entity - 1; i >= 0; i-- {
		if err := verifyProxy(chain[i], chain[i+1], t.now()); err != nil {
			return problem("x509.proxy", subjectDN(chain[i]), "the proxy is not valid", "", "grid auth proxy").because(err)
		}
		if info, err := proxyInfo(chain[i]); err == nil && info.PathLen >= 0 && info.PathLen < i {
			return problem("x509.path-length", subjectDN(chain[i]), "the proxy was delegated too often",
				fmt.Sprintf("%d proxies below one with path length %d", i, info.PathLen), "grid auth proxy")
		}
	}
	return nil
}

// Verify checks the credential's own chain; see VerifyChain.
func (t *Trust) Verify(x *X509) error { return t.VerifyChain(x.chain) }

// verifyEntity checks the certificate that is no proxy.
func verifyEntity(t *Trust, c *x509.Certificate, others []*x509.Certificate) error {
	pool := x509.NewCertPool()
	for _, o := range others {
		if err := voms.Checkable(o.PublicKey); err != nil {
			return explainVerify(t, o, err)
		}
		pool.AddCert(o)
	}
	chains, err := c.Verify(x509.VerifyOptions{Roots: t.Roots(), Intermediates: pool, CurrentTime: t.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return explainVerify(t, c, err)
	}
	return t.checkChains(chains)
}

// explainVerify turns errors of crypto/x509 into findings.
func explainVerify(t *Trust, c *x509.Certificate, err error) *Finding {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		where := t.dir
		if where == "" {
			where = "the system's certificates"
		}
		return problem("trust.unknown-ca", subjectDN(c), "issued by an authority that is not trusted", issuerDN(c)+" is not in "+where,
			"install that CA's certificate, or set X509_CERT_DIR").because(err)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return t.outOfTime(e.Cert, err)
	}
	return problem("x509.invalid", subjectDN(c), "the certificate is not valid", "", "ask your certificate authority for a new certificate").because(err)
}

// outOfTime is the finding about a certificate that is not valid now.
func (t *Trust) outOfTime(c *x509.Certificate, err error) *Finding {
	if now := t.now(); now.Before(c.NotBefore) {
		return problem("x509.not-yet-valid", subjectDN(c), "the certificate is not valid for another "+Span(c.NotBefore.Sub(now)), "", "check this machine's clock: grid auth doctor").because(err)
	}
	mend := "ask your certificate authority for a new certificate"
	if c.IsCA {
		mend = "update the CA distribution"
	}
	return problem("x509.expired", subjectDN(c), "the certificate expired "+Span(t.now().Sub(c.NotAfter))+" ago", "", mend).because(err)
}

// verifyProxy checks one proxy against its issuer, RFC 3820 section 4.1.
func verifyProxy(c, issuer *x509.Certificate, now time.Time) error {
	switch {
	case !bytes.Equal(c.RawIssuer, issuer.RawSubject):
		return fmt.Errorf("issued by %s, but followed by %s", issuerDN(c), subjectDN(issuer))
	case !signedBy(c, issuer):
		return errors.New("its signature is not by the certificate that follows it")
	case now.Before(c.NotBefore):
		return fmt.Errorf("not valid for another %s", Span(c.NotBefore.Sub(now)))
	case now.After(c.NotAfter):
		return fmt.Errorf("expired %s ago", Span(now.Sub(c.NotAfter)))
	case c.IsCA:
		return errors.New("it claims to be a CA")
	case issuer.IsCA:
		return errors.New("it is issued by a CA")
	case len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses)+len(c.URIs) > 0:
		return errors.New("it has alternative names, which proxies may not have")
	case issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("its issuer may not sign")
	}
	if err := verifyProxyName(c, issuer); err != nil {
		return err
	}
	return verifyProxyInfo(c, issuer)
}

// verifyProxyName asks for the issuer's name and one CN more.
func verifyProxyName(c, issuer *x509.Certificate) error {
	if _, ok := lastCN(c); !ok {
		return errors.New("its name does not end in one CN")
	}
	prefix, err := withoutLastRDN(c.RawSubject)
	if err != nil || !bytes.Equal(prefix, rdns(issuer.RawSubject)) {
		return fmt.Errorf("its name %s is not that of its issuer with one CN more", subjectDN(c))
	}
	return nil
}

// verifyProxyInfo checks the extension: critical, a policy that is known, and
// kept below a limited proxy.
func verifyProxyInfo(c, issuer *x509.Certificate) error {
	if k := kindOf(c); k != rfcProxy {
		return errors.New(k.String())
	}
	for _, e := range c.Extensions {
		if e.Id.Equal(oidProxyInfo) && !e.Critical {
			return errors.New("its proxy information is not marked critical")
		}
	}
	info, err := proxyInfo(c)
	if err != nil {
		return err
	}
	language := info.Policy.Language
	if !language.Equal(oidInheritAll) && !language.Equal(oidLimitedPolicy) {
		return fmt.Errorf("policy %s is not known", language)
	}
	if isLimited(issuer) && !language.Equal(oidLimitedPolicy) {
		return errors.New("a full proxy below a limited one")
	}
	for _, id := range c.UnhandledCriticalExtensions {
		if !id.Equal(oidProxyInfo) {
			return fmt.Errorf("critical extension %s is not known", id)
		}
	}
	return nil
}

// VerifyACs checks the VOMS attributes of a credential against vomsdir and the
// trusted authorities, as the host of these names would; without names as any would. It returns the first that
// fails as a *Finding.
func (t *Trust) VerifyACs(x *X509, vomsDir string, hosts ...string) error {
	acs, err := x.ACs()
	if err != nil {
		return problem("voms.malformed", x.path, "the VOMS attributes cannot be read", "", "grid auth proxy --voms VO").because(err)
	}
	v := voms.Verifier{Dir: vomsDir, Now: t.now(), Chain: t.VerifyChain, Hosts: hosts}
	for _, ac := range acs {
		if err := v.Verify(ac, x.entity()); err != nil {
			return vomsFinding(x.path, err)
		}
	}
	return nil
}

// vomsMends are what to do where a new proxy does not help.
var vomsMends = map[string]string{
	"lsc":          "ask your VO for the server's .lsc file and install it again",
	"lsc-mismatch": "the server may have a new certificate: ask your VO for its present .lsc file",
	"no-lsc":       "install the VO's .lsc files, or set X509_VOMS_DIR",
	"server-chain": "install the CA of the VOMS server, or set X509_CERT_DIR",
	"algorithm":    "tell the VO that its server signs with an abandoned algorithm",
	"critical":     "tell the VO",
	"fqan":         "tell the VO",
}

// vomsFinding makes a finding of an error of package voms.
func vomsFinding(subject string, err error) *Finding {
	e, ok := errors.AsType[*voms.VerifyError](err)
	if !ok {
		return asFinding(err)
	}
	why := e.Said
	if e.Err != nil {
		why += ": " + e.Err.Error()
	}
	return problem("voms."+e.Code, subject, "the VOMS attributes of "+e.VO+" are not valid", why, cmp.Or(vomsMends[e.Code], "grid auth proxy --voms "+e.VO)).because(err)
}

// VOMSDir is the directory of VOMS server descriptions that applies.
func (e Env) VOMSDir(opts Options) string {
	if opts.VOMSDir != "" {
		return opts.VOMSDir
	}
	if dir := e.getenv("X509_VOMS_DIR"); dir != "" {
		return dir
	}
	return "/etc/grid-security/vomsdir"
}

// VOMSES are the places of vomses files, in order: $X509_VOMSES (or ARC's
// $X509_VOMS_FILE) alone when set.
func (e Env) VOMSES() []string {
	for _, name := range []string{"X509_VOMSES", "X509_VOMS_FILE", "VOMS_USERCONF"} {
		if p := e.getenv(name); p != "" {
			return []string{p}
		}
	}
	var paths []string
	for _, p := range []string{e.home(".voms", "vomses"), e.home(".glite", "vomses"), e.home(".arc", "vomses"), "/etc/grid-security/vomses", "/etc/vomses"} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}
