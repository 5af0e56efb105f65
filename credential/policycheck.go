package credential

import (
	"crypto/x509"
	"errors"
	"io/fs"
)

// mayHaveSigned refuses names the CA may not sign: both its signing policy
// (which C software reads) and its namespaces (which Java software reads) must
// permit them. A CA without such a file may sign all: not every distribution
// has them.
func (a *authority) mayHaveSigned(c *x509.Certificate) error {
	policy, file, err := a.policy()
	if err != nil {
		return err
	}
	if file != "" && !policy.allows(issuerDN(c), subjectDN(c)) {
		return notInPolicy(file, c)
	}
	names, file, err := a.namespaces()
	if err != nil {
		return err
	}
	if file != "" && names.names(issuerDN(c)) && !names.allows(issuerDN(c), subjectDN(c)) {
		return notInPolicy(file, c)
	}
	return nil
}

func notInPolicy(file string, c *x509.Certificate) *Finding {
	return problem("trust.policy", subjectDN(c), "this CA may not sign this name", file+" does not permit it to "+issuerDN(c),
		"do not trust this certificate; ask the administrator of the CA directory")
}

// policy reads the signing policy; file is "" where there is none.
func (a *authority) policy() (p signingPolicy, file string, err error) {
	file, data, err := a.read(".signing_policy", "signing policy")
	if err != nil || file == "" {
		return nil, file, err
	}
	if p, err = parseSigningPolicy(file, data); err != nil {
		return nil, file, problem("trust.policy-malformed", file, "the signing policy cannot be read", "", "install the CA's files again").because(err)
	}
	return p, file, nil
}

// namespaces reads the namespaces file; file is "" where there is none.
func (a *authority) namespaces() (n namespaces, file string, err error) {
	file, data, err := a.read(".namespaces", "namespaces file")
	if err != nil || file == "" {
		return nil, file, err
	}
	if n, err = parseNamespaces(file, data); err != nil {
		return nil, file, problem("trust.namespaces-malformed", file, "the namespaces file cannot be read", "", "install the CA's files again").because(err)
	}
	return n, file, nil
}

// read reads the first of the files BASE+ext; file is "" where there is none.
func (a *authority) read(ext, what string) (file string, data []byte, err error) {
	for _, base := range a.bases {
		data, err = readPublic("trust", what, base+ext)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return base + ext, data, err
		}
	}
	return "", nil, nil
}
