package credential

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

// Bundle are authorities that stand in one file.
type Bundle struct {
	Pool *x509.CertPool
	ends []End
}

// Ends are those of its authorities.
func (b *Bundle) Ends() []End { return b.ends }

// BundleFile reads the authorities of a file. What it returns are those of now: where the file has been written anew since, it is
// read anew. One that cannot be used is told once, and those before it are believed until it can. What is no file, as a pipe, is
// read once.
func BundleFile(env Env, file string, read func(string) ([]byte, error), tell func(error)) (func() *Bundle, error) {
	b, err := newReread(env, lookAt(file), func() (*Bundle, error) {
		text, err := read(file)
		if err != nil {
			return nil, err
		}
		return newBundle(file, text)
	}, func(err error) {
		tell(fmt.Errorf("the new authorities cannot be used, those before them are still believed: %w", err))
	})
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return func() *Bundle { return b.is }, nil
	}
	return b.current, nil
}

func newBundle(file string, text []byte) (*Bundle, error) {
	b := &Bundle{Pool: x509.NewCertPool()}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil { // as Go reads bundles
			continue
		}
		b.Pool.AddCert(cert)
		b.ends = append(b.ends, End{AuthorityEnds, subjectDN(cert), cert.NotAfter})
	}
	if len(b.ends) == 0 {
		return nil, fmt.Errorf("%s: no certificate in it", file)
	}
	return b, nil
}
