package voms

import (
	"bytes"
	"encoding/asn1"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// shortNames are the attribute names of OpenSSL's one-line form, which grid
// services compare identities in.
var shortNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L",
	"2.5.4.8": "ST", "2.5.4.9": "street", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title",
	"2.5.4.17": "postalCode", "2.5.4.42": "GN", "2.5.4.97": "organizationIdentifier",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
	"1.2.840.113549.1.9.1": "emailAddress",
}

// DN writes a distinguished name (DER of an RDNSequence) in slash form:
// "/DC=org/CN=Alice". Bytes outside printable ASCII become \xHH, as OpenSSL's
// one-line form has them. Malformed DER gives "".
func DN(raw []byte) string {
	var b strings.Builder
	if !eachAVA(raw, func(oid asn1.ObjectIdentifier, tag cbasn1.Tag, value []byte) bool {
		writeAVA(&b, oid, tag, value)
		return true
	}) {
		return ""
	}
	return b.String()
}

// eachAVA reads a distinguished name (DER of an RDNSequence), one AttributeTypeAndValue after the other, as long as visit
// returns true. It tells whether that was all of it, and well-formed.
func eachAVA(raw []byte, visit func(oid asn1.ObjectIdentifier, tag cbasn1.Tag, value []byte) bool) bool {
	seq := cryptobyte.String(raw)
	var rdns, set, ava, value cryptobyte.String
	if !seq.ReadASN1(&rdns, cbasn1.SEQUENCE) {
		return false
	}
	for !rdns.Empty() {
		if !rdns.ReadASN1(&set, cbasn1.SET) {
			return false
		}
		for !set.Empty() {
			var oid asn1.ObjectIdentifier
			var tag cbasn1.Tag
			if !set.ReadASN1(&ava, cbasn1.SEQUENCE) || !ava.ReadASN1ObjectIdentifier(&oid) || !ava.ReadAnyASN1(&value, &tag) || !visit(oid, tag, value) {
				return false
			}
		}
	}
	return true
}

// writeAVA writes "/TYPE=value".
func writeAVA(b *strings.Builder, oid asn1.ObjectIdentifier, tag cbasn1.Tag, value []byte) {
	name, ok := shortNames[oid.String()]
	if !ok {
		name = oid.String()
	}
	b.WriteString("/" + name + "=")
	for _, c := range value {
		switch {
		case c == 0 && (tag == tagBMPString || tag == tagUniversalString): // the high bytes of wide characters
		case c < ' ' || c > '~':
			fmt.Fprintf(b, "\\x%02X", c)
		default:
			b.WriteByte(c)
		}
	}
}

// Unmistakable tells whether no name of other parts is written by DN as this one is: "/O=Lab/CN=a/CN=b" may be that of
// somebody whose CN is "a/CN=b", and a text may have "\xC3" in it where another has that byte. A name of no parts is
// everybody's who has none. Who is known by DN alone is not known by such a name.
func Unmistakable(raw []byte) bool {
	parts := 0
	return eachAVA(raw, func(_ asn1.ObjectIdentifier, tag cbasn1.Tag, value []byte) bool {
		parts++
		return !mistakable(value, tag)
	}) && parts > 0
}

// seemsPart is what DN writes before the value of a part, and instead of a byte.
var seemsPart = regexp.MustCompile(`/[A-Za-z0-9.]+=|\\x[0-9A-F]{2}`)

// mistakable tells whether DN writes a value as it would another, or as several parts.
func mistakable(value []byte, tag cbasn1.Tag) bool {
	wide := map[cbasn1.Tag]int{tagBMPString: 2, tagUniversalString: 4}[tag]
	for i, c := range value {
		if wide > 0 && c == 0 && i%wide == wide-1 { // which is left out where it is a high byte
			return true
		}
	}
	return seemsPart.Match(bytes.ReplaceAll(value, []byte{0}, nil))
}

const (
	tagBMPString       = cbasn1.Tag(30)
	tagUniversalString = cbasn1.Tag(28)
)
