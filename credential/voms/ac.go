// Package voms reads, checks and obtains VOMS attributes: the attribute
// certificates (RFC 5755, with the extensions of the VOMS AC format, OGF
// GFD.182) that say to which groups of a virtual organisation a user belongs,
// and in which roles.
package voms

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Object identifiers of GFD.182.
var (
	// OIDACSequence marks the proxy extension that carries attribute certificates.
	OIDACSequence = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 5}
	oidFQANs      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 4}
	oidCertList   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 10}
	oidTargets    = asn1.ObjectIdentifier{2, 5, 29, 55}
	oidNoRevAvail = asn1.ObjectIdentifier{2, 5, 29, 56}
	oidAuthKeyID  = asn1.ObjectIdentifier{2, 5, 29, 35}
	oidTags       = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 11}
)

// AC is one attribute certificate.
type AC struct {
	Raw, rawInfo []byte // DER of the whole and of the signed part

	HolderIssuer string // DN of the CA of the certificate the AC was given to
	HolderSerial *big.Int
	Issuer       string // DN of the VOMS server
	VO           string
	Server       string // host:port the AC names as its origin
	FQANs        []string
	NotBefore    time.Time
	NotAfter     time.Time
	Targets      []string            // hosts it is limited to; empty: all
	Certs        []*x509.Certificate // the server's chain, as carried in the AC

	algorithm  asn1.ObjectIdentifier
	signature  []byte
	criticalID []string // critical extensions we do not know
}

// FromCertificate returns the attribute certificates in a proxy certificate;
// none is no error.
func FromCertificate(c *x509.Certificate) ([]*AC, error) {
	for _, e := range c.Extensions {
		if e.Id.Equal(OIDACSequence) {
			return parseSequence(e.Value)
		}
	}
	return nil, nil
}

// parseSequence reads the value of the proxy extension: SEQUENCE OF SEQUENCE
// OF AttributeCertificate.
func parseSequence(der []byte) ([]*AC, error) {
	in := cryptobyte.String(der)
	var outer, inner cryptobyte.String
	if !in.ReadASN1(&outer, cbasn1.SEQUENCE) || !in.Empty() {
		return nil, errors.New("the VOMS extension is not a sequence")
	}
	var acs []*AC
	for !outer.Empty() {
		if !outer.ReadASN1(&inner, cbasn1.SEQUENCE) {
			return nil, errors.New("the VOMS extension holds something else than sequences of attribute certificates")
		}
		for !inner.Empty() {
			var one cryptobyte.String
			if !inner.ReadASN1Element(&one, cbasn1.SEQUENCE) {
				return nil, errors.New("the VOMS extension holds something else than attribute certificates")
			}
			ac, err := Parse(one)
			if err != nil {
				return nil, err
			}
			if acs = append(acs, ac); len(acs) > maxACs {
				return nil, fmt.Errorf("more than %d attribute certificates", maxACs)
			}
		}
	}
	return acs, nil
}

// Parse reads one attribute certificate from DER.
func Parse(der []byte) (*AC, error) {
	ac := &AC{Raw: append([]byte(nil), der...)}
	in := cryptobyte.String(ac.Raw)
	var body, info, alg cryptobyte.String
	if !in.ReadASN1(&body, cbasn1.SEQUENCE) || !in.Empty() || !body.ReadASN1Element(&info, cbasn1.SEQUENCE) ||
		!body.ReadASN1(&alg, cbasn1.SEQUENCE) || !alg.ReadASN1ObjectIdentifier(&ac.algorithm) ||
		!body.ReadASN1BitStringAsBytes(&ac.signature) || !body.Empty() {
		return nil, errors.New("malformed attribute certificate")
	}
	ac.rawInfo = info
	if err := ac.parseInfo(info); err != nil {
		return nil, fmt.Errorf("malformed attribute certificate: %w", err)
	}
	return ac, nil
}

// parseInfo reads AttributeCertificateInfo.
func (ac *AC) parseInfo(der cryptobyte.String) error {
	var info, holder, issuer, alg, validity, attrs cryptobyte.String
	var version int64
	if !der.ReadASN1(&info, cbasn1.SEQUENCE) || !info.ReadASN1Integer(&version) || version != 1 {
		return errors.New("not version 2 of the format")
	}
	if !info.ReadASN1(&holder, cbasn1.SEQUENCE) || !ac.parseHolder(holder) {
		return errors.New("the holder is not named by issuer and serial number")
	}
	if !info.ReadASN1(&issuer, cbasn1.Tag(0).ContextSpecific().Constructed()) || !ac.parseIssuer(issuer) {
		return errors.New("the issuer has no name")
	}
	if !info.ReadASN1(&alg, cbasn1.SEQUENCE) || !info.SkipASN1(cbasn1.INTEGER) {
		return errors.New("no signature algorithm or serial number")
	}
	var inner asn1.ObjectIdentifier
	if !alg.ReadASN1ObjectIdentifier(&inner) || !inner.Equal(ac.algorithm) {
		return errors.New("the signed and the outer signature algorithm differ")
	}
	if !info.ReadASN1(&validity, cbasn1.SEQUENCE) || !validity.ReadASN1GeneralizedTime(&ac.NotBefore) ||
		!validity.ReadASN1GeneralizedTime(&ac.NotAfter) {
		return errors.New("the validity is not two times")
	}
	if !info.ReadASN1(&attrs, cbasn1.SEQUENCE) {
		return errors.New("no attributes")
	}
	if err := ac.parseAttributes(attrs); err != nil {
		return err
	}
	info.SkipOptionalASN1(cbasn1.BIT_STRING) // issuerUniqueID
	return ac.parseExtensions(info)
}

func (ac *AC) parseHolder(holder cryptobyte.String) bool {
	var id, names cryptobyte.String
	ac.HolderSerial = new(big.Int)
	if !holder.ReadASN1(&id, cbasn1.Tag(0).ContextSpecific().Constructed()) ||
		!id.ReadASN1(&names, cbasn1.SEQUENCE) || !id.ReadASN1Integer(ac.HolderSerial) {
		return false
	}
	name, ok := directoryName(names)
	ac.HolderIssuer = name
	return ok
}

func (ac *AC) parseIssuer(v2 cryptobyte.String) bool {
	var names cryptobyte.String
	if !v2.ReadASN1(&names, cbasn1.SEQUENCE) {
		return false
	}
	name, ok := directoryName(names)
	ac.Issuer = name
	return ok
}

// directoryName returns the first directoryName of GeneralNames.
func directoryName(names cryptobyte.String) (string, bool) {
	for !names.Empty() {
		var value cryptobyte.String
		var tag cbasn1.Tag
		if !names.ReadAnyASN1(&value, &tag) {
			return "", false
		}
		if tag == cbasn1.Tag(4).ContextSpecific().Constructed() {
			dn := DN(value)
			return dn, dn != ""
		}
	}
	return "", false
}

// parseAttributes reads the FQANs out of the one attribute that VOMS uses.
func (ac *AC) parseAttributes(attrs cryptobyte.String) error {
	for !attrs.Empty() {
		var attr, set cryptobyte.String
		var oid asn1.ObjectIdentifier
		if !attrs.ReadASN1(&attr, cbasn1.SEQUENCE) || !attr.ReadASN1ObjectIdentifier(&oid) || !attr.ReadASN1(&set, cbasn1.SET) {
			return errors.New("malformed attribute")
		}
		if !oid.Equal(oidFQANs) {
			continue
		}
		for !set.Empty() {
			var syntax cryptobyte.String
			if !set.ReadASN1(&syntax, cbasn1.SEQUENCE) || !ac.parseSyntax(syntax) {
				return fmt.Errorf("malformed list of FQANs, or more than %d attributes, or one of more than %d bytes", maxFQANs, maxFQAN)
			}
		}
	}
	return nil
}

// parseSyntax reads IetfAttrSyntax: policyAuthority "vo://host:port", values.
func (ac *AC) parseSyntax(in cryptobyte.String) bool {
	var authority, values cryptobyte.String
	var present bool
	if !in.ReadOptionalASN1(&authority, &present, cbasn1.Tag(0).ContextSpecific().Constructed()) {
		return false
	}
	for present && !authority.Empty() {
		var value cryptobyte.String
		var tag cbasn1.Tag
		if !authority.ReadAnyASN1(&value, &tag) {
			return false
		}
		if tag == cbasn1.Tag(6).ContextSpecific() {
			ac.VO, ac.Server, _ = strings.Cut(string(value), "://")
		}
	}
	if !in.ReadASN1(&values, cbasn1.SEQUENCE) {
		return false
	}
	for !values.Empty() {
		var value cryptobyte.String
		var tag cbasn1.Tag
		if !values.ReadAnyASN1(&value, &tag) {
			return false
		}
		if tag == cbasn1.OCTET_STRING || tag == cbasn1.UTF8String {
			ac.FQANs = append(ac.FQANs, shortFQAN(string(value)))
		}
		if len(ac.FQANs) > maxFQANs || len(value) > maxFQAN {
			return false
		}
	}
	return true
}

// Bounds of what a proxy carries: attribute certificates, attributes in one of them, and bytes of an attribute,
// to which GFD.182 gives 255.
const (
	maxACs   = 20
	maxFQANs = 1000
	maxFQAN  = 1024
)

// shortFQAN drops the parts of an FQAN that say nothing: "/Role=NULL" and the
// long abandoned "/Capability=...".
func shortFQAN(fqan string) string {
	fqan, _, _ = strings.Cut(fqan, "/Capability=")
	return strings.TrimSuffix(fqan, "/Role=NULL")
}
