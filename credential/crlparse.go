package credential

import (
	"bytes"
	"crypto/x509"
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

// crl is a certificate revocation list, RFC 5280 section 5. It is read here
// because crypto/x509 takes version 2 only, grid CAs still issue version 1,
// and a list of a million entries is to be looked through, not kept.
type crl struct {
	tbs, issuer []byte
	revoked     cryptobyte.String // content of revokedCertificates
	thisUpdate  time.Time
	nextUpdate  time.Time // zero: none
	algorithm   asn1.ObjectIdentifier
	signature   []byte
	by          string // whose signature was found to be good, by nameAndKey
}

var errCRL = errors.New("malformed revocation list")

// parseCRL reads a list in DER or PEM.
func parseCRL(data []byte) (*crl, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----")) {
		block, _ := pem.Decode(data)
		if block == nil || block.Type != "X509 CRL" {
			return nil, errCRL
		}
		data = block.Bytes
	}
	in := cryptobyte.String(data)
	var list, tbs, alg cryptobyte.String
	c := &crl{}
	if !in.ReadASN1(&list, cbasn1.SEQUENCE) || !list.ReadASN1Element(&tbs, cbasn1.SEQUENCE) ||
		!list.ReadASN1(&alg, cbasn1.SEQUENCE) || !alg.ReadASN1ObjectIdentifier(&c.algorithm) ||
		!list.ReadASN1BitStringAsBytes(&c.signature) || !list.Empty() {
		return nil, errCRL
	}
	c.tbs = tbs
	return c, c.parseTBS(tbs)
}

func (c *crl) parseTBS(der cryptobyte.String) error {
	var tbs, issuer cryptobyte.String
	if !der.ReadASN1(&tbs, cbasn1.SEQUENCE) || !tbs.SkipOptionalASN1(cbasn1.INTEGER) || !tbs.SkipASN1(cbasn1.SEQUENCE) ||
		!tbs.ReadASN1Element(&issuer, cbasn1.SEQUENCE) || !readTime(&tbs, &c.thisUpdate) {
		return errCRL
	}
	c.issuer = issuer
	if tbs.PeekASN1Tag(cbasn1.UTCTime) || tbs.PeekASN1Tag(cbasn1.GeneralizedTime) {
		if !readTime(&tbs, &c.nextUpdate) {
			return errCRL
		}
	}
	if tbs.PeekASN1Tag(cbasn1.SEQUENCE) && !tbs.ReadASN1(&c.revoked, cbasn1.SEQUENCE) {
		return errCRL
	}
	return c.criticalExtensions(tbs)
}

// criticalExtensions refuses lists whose scope is not all of the CA's
// certificates (deltas, partitioned lists): they cannot be relied upon here.
func (c *crl) criticalExtensions(tbs cryptobyte.String) error {
	var exts cryptobyte.String
	var present bool
	if !tbs.ReadOptionalASN1(&exts, &present, cbasn1.Tag(0).ContextSpecific().Constructed()) || !tbs.Empty() {
		return errCRL
	}
	if !present {
		return nil
	}
	var list cryptobyte.String
	if !exts.ReadASN1(&list, cbasn1.SEQUENCE) {
		return errCRL
	}
	for !list.Empty() {
		var ext cryptobyte.String
		var oid asn1.ObjectIdentifier
		var critical bool
		if !list.ReadASN1(&ext, cbasn1.SEQUENCE) || !ext.ReadASN1ObjectIdentifier(&oid) ||
			ext.PeekASN1Tag(cbasn1.BOOLEAN) && !ext.ReadASN1Boolean(&critical) {
			return errCRL
		}
		if critical {
			return fmt.Errorf("revocation list with critical extension %s (a delta or partial list)", oid)
		}
	}
	return nil
}

// readTime reads UTCTime or GeneralizedTime.
func readTime(in *cryptobyte.String, to *time.Time) bool {
	if in.PeekASN1Tag(cbasn1.UTCTime) {
		return in.ReadASN1UTCTime(to)
	}
	return in.ReadASN1GeneralizedTime(to)
}

// check verifies that the authority signed the list; once is enough.
func (c *crl) check(ca *x509.Certificate) error {
	if c.by == nameAndKey(ca) {
		return nil
	}
	if !bytes.Equal(c.issuer, ca.RawSubject) {
		return fmt.Errorf("the list is by %s", voms.DN(c.issuer))
	}
	algorithm, ok := voms.Algorithm(c.algorithm)
	if !ok {
		return fmt.Errorf("signed with an algorithm that is not accepted: %s", c.algorithm)
	}
	if err := ca.CheckSignature(algorithm, c.tbs, c.signature); err != nil {
		return err
	}
	c.by = nameAndKey(ca)
	return nil
}

// find looks a serial number up.
func (c *crl) find(serial *big.Int) (at time.Time, found bool, err error) {
	want := new(big.Int)
	for rest := c.revoked; !rest.Empty(); {
		var entry cryptobyte.String
		if !rest.ReadASN1(&entry, cbasn1.SEQUENCE) || !entry.ReadASN1Integer(want) {
			return at, false, errCRL
		}
		if want.Cmp(serial) == 0 {
			if !readTime(&entry, &at) {
				return at, false, errCRL
			}
			return at, true, nil
		}
	}
	return at, false, nil
}
