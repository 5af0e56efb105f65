package credential

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// maxCRLs bounds the .rN files of one authority.
const maxCRLs = 10

// checkChain applies the directory's signing policies and CRLs to a chain
// verified by crypto/x509 (own certificate first, root last). Links signed by
// the system's authorities are bound by neither.
func (t *Trust) checkChain(chain []*x509.Certificate) error {
	for i := 0; i+1 < len(chain); i++ {
		ca := t.authority(chain[i+1])
		if ca == nil {
			continue
		}
		if err := ca.checkPolicy(chain[i]); err != nil {
			return err
		}
		if err := t.checkRevoked(ca, chain[i]); err != nil {
			return err
		}
	}
	return nil
}

// authority returns the directory's entry for a CA certificate; nil when it
// has none.
func (t *Trust) authority(c *x509.Certificate) *authority {
	return t.cas[string(c.RawSubject)+string(c.RawSubjectPublicKeyInfo)]
}

// checkPolicy refuses names the CA may not sign. A CA without a policy file
// may sign all: since 2013 not every distribution has them.
func (a *authority) checkPolicy(c *x509.Certificate) error {
	file := a.base + ".signing_policy"
	data, err := readPublic("trust", "signing policy", file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	policy, err := parseSigningPolicy(file, data)
	if err != nil {
		return problem("trust.policy-malformed", file, "the signing policy cannot be read", "", "install the CA's files again").because(err)
	}
	if !policy.allows(issuerDN(c), subjectDN(c)) {
		return problem("trust.policy", subjectDN(c), "this CA may not sign this name", file+" does not list it for "+issuerDN(c),
			"do not trust this certificate; ask the administrator of the CA directory")
	}
	return nil
}

// checkRevoked looks the certificate up in the authority's CRLs. An authority
// without one is not asked for it; an expired one cannot be relied upon and is
// refused, as OpenSSL and Globus do.
func (t *Trust) checkRevoked(a *authority, c *x509.Certificate) error {
	for n := range maxCRLs {
		file := a.base + ".r" + strconv.Itoa(n)
		list, err := readCRL(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = list.check(a.cert)
		}
		if err != nil {
			return problem("trust.crl-malformed", file, "the revocation list cannot be used", "", "fetch-crl").because(err)
		}
		if err := t.lookUp(list, file, a, c); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trust) lookUp(list *crl, file string, a *authority, c *x509.Certificate) error {
	if !list.nextUpdate.IsZero() && t.now().After(list.nextUpdate) {
		return problem("trust.crl-expired", file, "the revocation list expired "+Span(t.now().Sub(list.nextUpdate))+" ago",
			"nothing signed by "+subjectDN(a.cert)+" can be believed without a current one", "fetch-crl")
	}
	at, found, err := list.find(c.SerialNumber)
	if err != nil {
		return problem("trust.crl-malformed", file, "the revocation list cannot be used", "", "fetch-crl").because(err)
	}
	if found {
		return problem("x509.revoked", subjectDN(c), "the certificate was revoked on "+at.UTC().Format("2006-01-02"),
			fmt.Sprintf("serial %X is on the list of %s", c.SerialNumber, subjectDN(a.cert)), "ask the certificate authority for a new certificate")
	}
	return nil
}

// readCRL reads a list of at most 64 MiB.
func readCRL(file string) (*crl, error) {
	data, err := readFileLimited(file, 64<<20)
	if err != nil {
		return nil, err
	}
	return parseCRL(data)
}
