package credential

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bundle are authorities of one file or directory, with their revocation lists.
type Bundle struct {
	roots *x509.CertPool
	trust *Trust
	ends  []End
}

// Roots are their certificates: another pool for each Bundle.
func (b *Bundle) Roots() *x509.CertPool { return b.roots }

// Check asks that one of the chains, which end in Roots, respects the signing policies and revocation lists that there are.
func (b *Bundle) Check(chains [][]*x509.Certificate) error { return b.trust.checkChains(chains) }

// Ends are those of its authorities.
func (b *Bundle) Ends() []End { return b.ends }

// BundleFile reads the authorities of a file, beside which there may be their revocation lists, or of a directory in the grid's format.
// What it returns are those of now: where the file or a list has been written anew since, they are
// read anew. One that cannot be used is told once, and those before it are believed until it can. What is neither, as a pipe, is
// read once.
func BundleFile(env Env, path string, read func(string) ([]byte, error), tell func(error)) (func() *Bundle, error) {
	b, err := newReread(env, lookBeside(path), func() (*Bundle, error) {
		if isDir(path) {
			return bundleDir(env, path)
		}
		text, err := read(path)
		if err != nil {
			return nil, err
		}
		return newBundle(env, path, text)
	}, func(err error) {
		tell(fmt.Errorf("the new authorities cannot be used, those before them are still believed: %w", err))
	})
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return func() *Bundle { return b.is }, nil
	}
	return b.current, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// lookBeside finds what a file of authorities and what is beside it, or what is in their directory, are.
func lookBeside(path string) func() []os.FileInfo {
	return func() []os.FileInfo {
		if isDir(path) {
			return lookInto(path, func(name string) bool { return namesCA(name) || bindsCA(name) })
		}
		return append(lookAt(path)(), lookInto(filepath.Dir(path), bindsCA)...)
	}
}

// bindsCA tells whether a file may be one that an authority is bound by, by its name: *.rN, *.signing_policy, *.namespaces.
func bindsCA(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".signing_policy" || ext == ".namespaces" || len(ext) > 2 && ext[:2] == ".r" && strings.Trim(ext[2:], "0123456789") == ""
}

func bundleDir(env Env, dir string) (*Bundle, error) {
	t, err := LoadTrust(env, Options{CAs: GridCA, CertDir: dir})
	if err != nil {
		return nil, err
	}
	if t.Size() == 0 {
		return nil, fmt.Errorf("%s: no certificate authority in it", dir)
	}
	return &Bundle{t.grid, t, Ends(t)}, nil
}

func newBundle(env Env, file string, text []byte) (*Bundle, error) {
	t := &Trust{cas: map[string]*authority{}, grid: x509.NewCertPool(), now: env.now, open: true}
	b := &Bundle{roots: x509.NewCertPool(), trust: t}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil { // as Go reads bundles
			continue
		}
		b.roots.AddCert(cert)
		b.ends = append(b.ends, End{AuthorityEnds, subjectDN(cert), cert.NotAfter})
		for _, hash := range []string{NameHash(cert.RawSubject), oldNameHash(cert.RawSubject)} {
			t.addCAs([]*x509.Certificate{cert}, filepath.Join(filepath.Dir(file), hash))
		}
	}
	for _, e := range Ends(t) {
		if e.Kind == CRLEnds {
			b.ends = append(b.ends, e)
		}
	}
	if len(b.ends) == 0 {
		return nil, fmt.Errorf("%s: no certificate in it", file)
	}
	return b, nil
}
