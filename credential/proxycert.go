package credential

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
)

// Object identifiers of RFC 3820 and of the Globus toolkit.
var (
	oidCommonName    = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidProxyInfo     = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14} // RFC 3820 3.8
	oidDraftInfo     = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 3536, 1, 222}
	oidInheritAll    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 21, 1} // RFC 3820 3.8.2
	oidLimitedPolicy = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 3536, 1, 1, 1, 9}
)

// proxyKind tells the formats of proxies apart.
type proxyKind uint8

const (
	notProxy    proxyKind = iota
	rfcProxy              // RFC 3820
	draftProxy            // the draft before it (Globus 3): another extension
	legacyProxy           // Globus 2: no extension, a CN of "proxy" or "limited proxy"
)

func (k proxyKind) String() string {
	return [...]string{"no proxy", "RFC 3820 proxy", "draft proxy of Globus 3, not RFC 3820", "legacy proxy of Globus 2, not RFC 3820"}[k]
}

// proxyPolicy and proxyCertInfo are ASN.1 structures of RFC 3820 3.8.
type proxyPolicy struct {
	Language asn1.ObjectIdentifier
	Policy   []byte `asn1:"optional"`
}

type proxyCertInfo struct {
	PathLen int `asn1:"optional,default:-1"` // -1: no limit
	Policy  proxyPolicy
}

// kindOf classifies a certificate.
func kindOf(c *x509.Certificate) proxyKind {
	for _, e := range c.Extensions {
		switch {
		case e.Id.Equal(oidProxyInfo):
			return rfcProxy
		case e.Id.Equal(oidDraftInfo):
			return draftProxy
		}
	}
	if cn, ok := lastCN(c); ok && (cn == "proxy" || cn == "limited proxy") {
		return legacyProxy
	}
	return notProxy
}

// proxyInfo reads the RFC 3820 extension.
func proxyInfo(c *x509.Certificate) (proxyCertInfo, error) {
	for _, e := range c.Extensions {
		if !e.Id.Equal(oidProxyInfo) {
			continue
		}
		var info proxyCertInfo
		if !unmarshalAll(e.Value, &info) {
			return info, errors.New("malformed proxy information")
		}
		if info.PathLen < -1 {
			return info, fmt.Errorf("path length %d", info.PathLen)
		}
		return info, nil
	}
	return proxyCertInfo{}, errors.New("no proxy information")
}

// isLimited reports whether this certificate is a limited proxy.
func isLimited(c *x509.Certificate) bool {
	if cn, _ := lastCN(c); kindOf(c) == legacyProxy && cn == "limited proxy" {
		return true
	}
	info, err := proxyInfo(c)
	return err == nil && info.Policy.Language.Equal(oidLimitedPolicy)
}

// unmarshalAll decodes DER with nothing left over.
func unmarshalAll(der []byte, to any) bool {
	rest, err := asn1.Unmarshal(der, to)
	return err == nil && len(rest) == 0
}
