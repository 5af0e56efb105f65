package testbed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// AC describes a VOMS attribute certificate to make (RFC 5755, GFD.182).
type AC struct {
	Holder   *x509.Certificate
	Issuer   *x509.Certificate // whose name it bears; signed with Key
	Key      crypto.Signer     // ECDSA
	VO, Host string            // Host: "voms.example.org:15000"
	FQANs    []string
	From, To time.Time
	Chain    []*x509.Certificate // carried inside; nil: none
	Critical asn1.ObjectIdentifier
	SHA1     bool // names SHA-1 as its algorithm
	Targets  []string
}

var (
	oidFQANs    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 4}
	oidCertList = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 10}
	oidTargets  = asn1.ObjectIdentifier{2, 5, 29, 55}
	oidNoRev    = asn1.ObjectIdentifier{2, 5, 29, 56}
	oidSHA256   = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidSHA1     = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 1}
)

const (
	context0 = cbasn1.Tag(0xa0)
	context4 = cbasn1.Tag(0xa4)
	context6 = cbasn1.Tag(0x86)
)

// DER signs and writes it.
func (ac AC) DER(t testing.TB) []byte {
	t.Helper()
	info := build(t, ac.info)
	sum := sha256.Sum256(info)
	sig, err := ecdsa.SignASN1(rand.Reader, ac.Key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return build(t, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddBytes(info)
			ac.algorithm(b)
			b.AddASN1BitString(sig)
		})
	})
}

// Extension is the value of the proxy extension that carries these.
func Extension(t testing.TB, ders ...[]byte) []byte {
	return build(t, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				for _, der := range ders {
					b.AddBytes(der)
				}
			})
		})
	})
}

func build(t testing.TB, f func(*cryptobyte.Builder)) []byte {
	t.Helper()
	var b cryptobyte.Builder
	f(&b)
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (ac AC) algorithm(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		if ac.SHA1 {
			b.AddASN1ObjectIdentifier(oidSHA1)
		} else {
			b.AddASN1ObjectIdentifier(oidSHA256)
		}
	})
}

func (ac AC) info(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { // holder
			b.AddASN1(context0, func(b *cryptobyte.Builder) {
				generalName(b, ac.Holder.RawIssuer)
				b.AddASN1BigInt(ac.Holder.SerialNumber)
			})
		})
		b.AddASN1(context0, func(b *cryptobyte.Builder) { generalName(b, ac.Issuer.RawSubject) })
		ac.algorithm(b)
		b.AddASN1BigInt(big.NewInt(7))
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1GeneralizedTime(ac.From.UTC())
			b.AddASN1GeneralizedTime(ac.To.UTC())
		})
		ac.attributes(b)
		ac.extensions(b)
	})
}

func generalName(b *cryptobyte.Builder, name []byte) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(context4, func(b *cryptobyte.Builder) { b.AddBytes(name) })
	})
}

func (ac AC) attributes(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(oidFQANs)
			b.AddASN1(cbasn1.SET, func(b *cryptobyte.Builder) {
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					b.AddASN1(context0, func(b *cryptobyte.Builder) {
						b.AddASN1(context6, func(b *cryptobyte.Builder) { b.AddBytes([]byte(ac.VO + "://" + ac.Host)) })
					})
					b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
						for _, f := range ac.FQANs {
							b.AddASN1OctetString([]byte(f))
						}
					})
				})
			})
		})
	})
}

func (ac AC) extensions(b *cryptobyte.Builder) {
	extension := func(b *cryptobyte.Builder, oid asn1.ObjectIdentifier, critical bool, value func(*cryptobyte.Builder)) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(oid)
			if critical {
				b.AddASN1Boolean(true)
			}
			b.AddASN1(cbasn1.OCTET_STRING, value)
		})
	}
	null := func(b *cryptobyte.Builder) { b.AddASN1NULL() }
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		extension(b, oidNoRev, false, null)
		if ac.Critical != nil {
			extension(b, ac.Critical, true, null)
		}
		if ac.Chain != nil {
			extension(b, oidCertList, false, ac.certificates)
		}
		if ac.Targets != nil {
			extension(b, oidTargets, true, ac.targets)
		}
	})
}

func (ac AC) certificates(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			for _, c := range ac.Chain {
				b.AddBytes(c.Raw)
			}
		})
	})
}

func (ac AC) targets(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for _, target := range ac.Targets {
			b.AddASN1(context0, func(b *cryptobyte.Builder) {
				b.AddASN1(context6, func(b *cryptobyte.Builder) { b.AddBytes([]byte(target)) })
			})
		}
	})
}
