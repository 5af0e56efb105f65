package voms

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// parseExtensions reads the optional extensions at the end of the info.
func (ac *AC) parseExtensions(info cryptobyte.String) error {
	if info.Empty() {
		return nil
	}
	var exts cryptobyte.String
	if !info.ReadASN1(&exts, cbasn1.SEQUENCE) || !info.Empty() {
		return errors.New("malformed extensions")
	}
	for !exts.Empty() {
		var ext, value cryptobyte.String
		var oid asn1.ObjectIdentifier
		var critical bool
		if !exts.ReadASN1(&ext, cbasn1.SEQUENCE) || !ext.ReadASN1ObjectIdentifier(&oid) ||
			(ext.PeekASN1Tag(cbasn1.BOOLEAN) && !ext.ReadASN1Boolean(&critical)) || !ext.ReadASN1(&value, cbasn1.OCTET_STRING) {
			return errors.New("malformed extension")
		}
		if err := ac.parseExtension(oid, critical, value); err != nil {
			return err
		}
	}
	return nil
}

func (ac *AC) parseExtension(oid asn1.ObjectIdentifier, critical bool, value cryptobyte.String) (err error) {
	switch {
	case oid.Equal(oidCertList):
		ac.Certs, err = parseCertList(value)
	case oid.Equal(oidTargets):
		ac.Targets, err = parseTargets(value)
	case oid.Equal(oidNoRevAvail), oid.Equal(oidAuthKeyID), oid.Equal(oidTags):
	case critical:
		ac.criticalID = append(ac.criticalID, oid.String())
	}
	return err
}

// Bounds of the certificates that others show: how many, and the bits of an RSA
// key, whose square is what a signature costs to check. TLS has its own.
const (
	maxCerts   = 20
	maxKeyBits = 16384
)

// Checkable refuses the key of a certificate or request that is so large that to
// check what it has signed would take long: a megabyte of it takes hours.
func Checkable(public any) error {
	if key, ok := public.(*rsa.PublicKey); ok && key.N.BitLen() > maxKeyBits {
		return fmt.Errorf("a certificate has a key of %d bits, more than %d", key.N.BitLen(), maxKeyBits)
	}
	return nil
}

// parseCertList reads SEQUENCE OF SEQUENCE OF Certificate.
func parseCertList(in cryptobyte.String) ([]*x509.Certificate, error) {
	var outer, list cryptobyte.String
	bad := errors.New("malformed list of the server's certificates")
	if !in.ReadASN1(&outer, cbasn1.SEQUENCE) {
		return nil, bad
	}
	var certs []*x509.Certificate
	for !outer.Empty() {
		if !outer.ReadASN1(&list, cbasn1.SEQUENCE) {
			return nil, bad
		}
		for !list.Empty() {
			var der cryptobyte.String
			if !list.ReadASN1Element(&der, cbasn1.SEQUENCE) {
				return nil, bad
			}
			c, err := x509.ParseCertificate(der)
			if err != nil {
				return nil, err
			}
			if err := Checkable(c.PublicKey); err != nil {
				return nil, err
			}
			if certs = append(certs, c); len(certs) > maxCerts {
				return nil, fmt.Errorf("more than %d certificates of the server", maxCerts)
			}
		}
	}
	return certs, nil
}

// parseTargets collects the URIs and names of Targets (RFC 5755 4.3.2). The
// nesting differs between writers, so all URI strings are taken.
func parseTargets(in cryptobyte.String) ([]string, error) {
	var names []string
	ok := walk(in, 0, func(tag cbasn1.Tag, value []byte) {
		if tag == cbasn1.Tag(6).ContextSpecific() || tag == cbasn1.Tag(2).ContextSpecific() {
			names = append(names, string(value))
		}
	})
	if !ok {
		return nil, errors.New("malformed targets")
	}
	if len(names) == 0 {
		names = []string{"(unreadable target)"} // limited to something we cannot name: never "all"
	}
	return names, nil
}

// walk visits the primitive values below in, to a depth of 8.
func walk(in cryptobyte.String, depth int, visit func(cbasn1.Tag, []byte)) bool {
	for !in.Empty() {
		var value cryptobyte.String
		var tag cbasn1.Tag
		if depth > 8 || !in.ReadAnyASN1(&value, &tag) {
			return false
		}
		if tag&0x20 == 0 {
			visit(tag, value)
		} else if !walk(value, depth+1, visit) {
			return false
		}
	}
	return true
}
