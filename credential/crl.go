package credential

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strconv"
	"time"

	"gridbroker/durable"
)

// maxCRLs bounds the .rN files of one hash.
const maxCRLs = 100

// checkChain applies the directory's signing policies, namespaces and CRLs to
// a chain verified by crypto/x509 (own certificate first, root last). Links
// signed by the system's authorities are bound by none.
func checkChain(t *Trust, chain []*x509.Certificate) error {
	verified := len(chain)
	chain, err := t.extend(chain)
	if err != nil {
		return err
	}
	if err := heldByThoseAbove(t, chain, verified); err != nil {
		return err
	}
	for i := 0; i+1 < len(chain); i++ {
		ca := t.authority(chain[i+1])
		if ca == nil {
			if above := installed(t, chain[i+2:]); above != nil && !t.open {
				return stranger(chain[i+1], chain[i], above)
			}
			continue
		}
		if err := ca.mayHaveSigned(chain[i]); err != nil {
			return err
		}
		if err := checkRevoked(t, ca, chain[i]); err != nil {
			return err
		}
	}
	return nil
}

// installed is the first of the certificates that is in the directory.
func installed(t *Trust, chain []*x509.Certificate) *x509.Certificate {
	for _, c := range chain {
		if t.authority(c) != nil {
			return c
		}
	}
	return nil
}

// stranger is a subordinate authority that the directory does not have, below
// one that it has: there is no policy and no revocation list to hold what it
// signs to, so that it would escape those of the authority above it.
func stranger(ca, signed, above *x509.Certificate) *Finding {
	return problem("trust.subordinate", subjectDN(signed), "it is signed by a subordinate authority that is not in the directory",
		subjectDN(ca)+", below "+subjectDN(above), "install the subordinate authority's files as well")
}

// extend goes on from a subordinate authority of the directory, where
// crypto/x509 stops, to the ones above it, so that their policies and CRLs
// count as well.
func (t *Trust) extend(chain []*x509.Certificate) ([]*x509.Certificate, error) {
	for len(chain) <= maxCerts {
		top := chain[len(chain)-1]
		above := issuerOf(t, top)
		if above == nil {
			return chain, nil
		}
		if now := t.now(); now.After(above.NotAfter) || now.Before(above.NotBefore) {
			return nil, t.outOfTime(above, nil)
		}
		chain = append(slices.Clip(chain), above)
	}
	return chain, nil
}

// oidNameConstraints is of the extension that says for which names an authority and all below it may
// speak (RFC 5280 section 4.2.1.10).
var oidNameConstraints = asn1.ObjectIdentifier{2, 5, 29, 30}

// heldByThoseAbove holds a chain to what the authorities say, from the place on where crypto/x509 stopped, of those
// below them: how many there may be, and for which names they may speak.
func heldByThoseAbove(t *Trust, chain []*x509.Certificate, verified int) error {
	for i := verified; i < len(chain); i++ {
		above := chain[i]
		if most := above.MaxPathLen; (most > 0 || above.MaxPathLenZero) && i-1 > most {
			return problem("x509.invalid", subjectDN(chain[0]), "the certificate is not valid",
				fmt.Sprintf("%d authorities below %s, which may have %d", i-1, subjectDN(above), most), "tell the certificate authority")
		}
		if !slices.ContainsFunc(above.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidNameConstraints) }) {
			continue
		}
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(above)
		for _, c := range chain[1:i] {
			between.AddCert(c)
		}
		if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: t.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			return explainVerify(t, chain[0], err)
		}
	}
	return nil
}

// issuerOf finds the certificate that signed another in the directory; nil
// for roots, and where it is not there.
func issuerOf(t *Trust, c *x509.Certificate) *x509.Certificate {
	if bytes.Equal(c.RawIssuer, c.RawSubject) || t.authority(c) == nil {
		return nil
	}
	for _, ca := range t.cas {
		if bytes.Equal(ca.cert.RawSubject, c.RawIssuer) && signedBy(c, ca.cert) {
			return ca.cert
		}
	}
	return nil
}

// authority returns the directory's entry for a CA certificate; nil when it
// has none.
func (t *Trust) authority(c *x509.Certificate) *authority { return t.cas[nameAndKey(c)] }

// nameAndKey tells authorities apart: a CA that changes its key keeps its name.
func nameAndKey(c *x509.Certificate) string {
	return string(c.RawSubject) + string(c.RawSubjectPublicKeyInfo)
}

// crlFile is one list of an authority that its key signed.
type crlFile struct {
	*crl
	file string
}

// lists reads the authority's revocation lists: the .rN files below the first
// of its hashes that has any. CAs whose names collide in the hash, and CAs
// that changed their key, share these files; lists of another name or key are
// passed over. A list of its name that cannot be used is an error when there
// is no other.
func (a *authority) lists() ([]crlFile, error) { return a.listsBy(readCRL) }

func (a *authority) listsBy(read func(file string) (*crl, error)) ([]crlFile, error) {
	for _, base := range a.bases {
		if list, err := a.listsAt(base, read); len(list) > 0 || err != nil {
			return list, err
		}
	}
	return nil, nil
}

func (a *authority) listsAt(base string, read func(file string) (*crl, error)) (list []crlFile, bad error) {
	for n := range maxCRLs {
		file := base + ".r" + strconv.Itoa(n)
		c, err := read(file)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil && !bytes.Equal(c.issuer, a.cert.RawSubject) {
			continue
		}
		if err == nil {
			err = c.check(a.cert)
		}
		if err == nil {
			list = append(list, crlFile{c, file})
		} else if bad == nil {
			bad = problem("trust.crl-malformed", file, "the revocation list cannot be used", "", "fetch-crl").because(err)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	return nil, bad
}

// checkRevoked looks the certificate up in the authority's CRLs. An authority
// without one is not asked for it; when all have expired none can be relied
// upon and the certificate is refused, as OpenSSL and Globus do.
func checkRevoked(t *Trust, a *authority, c *x509.Certificate) error {
	lists, err := t.kept.lists(a)
	if err != nil || len(lists) == 0 {
		return err
	}
	for _, l := range lists {
		if err := l.revoked(a, c); err != nil {
			return err
		}
	}
	if newest := latest(lists); newest.expired(t.now()) {
		return problem("trust.crl-expired", newest.file, "the revocation list expired "+Span(t.now().Sub(newest.nextUpdate))+" ago",
			"nothing signed by "+subjectDN(a.cert)+" can be believed without a current one", "fetch-crl")
	}
	return nil
}

// latest is the list that is valid longest.
func latest(lists []crlFile) crlFile {
	best := lists[0]
	for _, l := range lists[1:] {
		if l.nextUpdate.IsZero() || !best.nextUpdate.IsZero() && l.nextUpdate.After(best.nextUpdate) {
			best = l
		}
	}
	return best
}

func (c *crl) expired(now time.Time) bool { return !c.nextUpdate.IsZero() && now.After(c.nextUpdate) }

func (l crlFile) revoked(a *authority, c *x509.Certificate) error {
	at, found, err := l.find(c.SerialNumber)
	if err != nil {
		return problem("trust.crl-malformed", l.file, "the revocation list cannot be used", "", "fetch-crl").because(err)
	}
	if found {
		return problem("x509.revoked", subjectDN(c), "the certificate was revoked on "+at.UTC().Format("2006-01-02"),
			fmt.Sprintf("serial %s is on the list of %s", serial(c.SerialNumber), subjectDN(a.cert)), "ask the certificate authority for a new certificate")
	}
	return nil
}

// serial writes a serial number as the openssl command does.
func serial(n *big.Int) string { return fmt.Sprintf("%02X", n) }

// maxCRL bounds a revocation list, in bytes.
const maxCRL = 64 << 20

// readCRL reads a list.
func readCRL(file string) (*crl, error) {
	data, err := durable.ReadFile(file, maxCRL)
	if err != nil {
		return nil, err
	}
	return parseCRL(data)
}
