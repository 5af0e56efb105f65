package credential

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// NameHash is the file name that OpenSSL 1.0 and newer look a CA up by
// (X509_NAME_hash): SHA-1 of the name in canonical form. "" for malformed DER.
func NameHash(name []byte) string {
	canon, ok := canonicalName(name)
	if !ok {
		return ""
	}
	sum := sha1.Sum(canon)
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(sum[:]))
}

// oldNameHash is the one before: MD5 of the DER. Some grid software, linked
// with old libraries, still looks for it.
func oldNameHash(name []byte) string {
	sum := md5.Sum(name)
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(sum[:]))
}

// canonicalName writes strings as UTF-8, in lower case, with single spaces,
// and leaves the outermost SEQUENCE header out.
func canonicalName(name []byte) ([]byte, bool) {
	rest := cryptobyte.String(rdns(name))
	var b cryptobyte.Builder
	for !rest.Empty() {
		var set cryptobyte.String
		if !rest.ReadASN1(&set, cbasn1.SET) {
			return nil, false
		}
		ok := true
		b.AddASN1(cbasn1.SET, func(b *cryptobyte.Builder) {
			for !set.Empty() && ok {
				ok = canonicalAVA(b, &set)
			}
		})
		if !ok {
			return nil, false
		}
	}
	out, err := b.Bytes()
	return out, err == nil
}

func canonicalAVA(b *cryptobyte.Builder, set *cryptobyte.String) bool {
	var ava, value cryptobyte.String
	var oid asn1.ObjectIdentifier
	var tag cbasn1.Tag
	if !set.ReadASN1(&ava, cbasn1.SEQUENCE) || !ava.ReadASN1ObjectIdentifier(&oid) || !ava.ReadAnyASN1(&value, &tag) {
		return false
	}
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oid)
		if text, ok := textOf(tag, value); ok {
			b.AddASN1(cbasn1.UTF8String, func(b *cryptobyte.Builder) { b.AddBytes([]byte(fold(text))) })
		} else {
			b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(value) })
		}
	})
	return true
}

// textOf decodes the string types of X.520.
func textOf(tag cbasn1.Tag, value []byte) (string, bool) {
	switch tag {
	case cbasn1.UTF8String, cbasn1.PrintableString, cbasn1.IA5String, cbasn1.Tag(26): // 26: VisibleString
		return string(value), true
	case cbasn1.T61String: // taken as Latin-1
		runes := make([]rune, len(value))
		for i, c := range value {
			runes[i] = rune(c)
		}
		return string(runes), true
	case cbasn1.Tag(30): // BMPString
		units := make([]uint16, len(value)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(value[2*i:])
		}
		return string(utf16.Decode(units)), true
	}
	return "", false
}

// fold lowers ASCII letters, trims, and makes runs of white space one space.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }), " ")
}
