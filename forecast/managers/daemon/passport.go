package daemon

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gridbroker/forecast/managers"
)

// A job's broker signs what it says of it; the manager that it is handed to adds the
// broker's certificates, by which every manager on its way checks that.

// signedPart is what a broker signs: all of a passport that no manager changes.
type signedPart struct {
	ID        managers.ID        `json:"id"`
	Broker    string             `json:"broker"`
	Need      managers.Resources `json:"need"`
	Priority  int                `json:"priority"`
	Submitted int64              `json:"submitted"`
	Attempt   int                `json:"attempt"`
}

// text is what the signature is of; "grid passport" keeps it from being one of anything else.
func signedText(j *managers.Job) ([]byte, error) {
	text, err := json.Marshal(signedPart{j.ID, j.Broker, j.Need, j.Priority, j.Submitted, j.Attempt})
	return append([]byte("grid passport 1\n"), text...), err
}

// seal signs a passport with the key of the broker's certificate.
func seal(j *managers.Job, own *tls.Certificate) error {
	key, ok := own.PrivateKey.(crypto.Signer)
	if !ok {
		return errors.New("the certificate has no key to sign passports with")
	}
	text, err := signedText(j)
	if err != nil {
		return err
	}
	hash := crypto.SHA256
	sum := sha256.Sum256(text)
	digest := sum[:]
	if _, whole := key.Public().(ed25519.PublicKey); whole {
		hash, digest = 0, text
	}
	sign, err := key.Sign(rand.Reader, digest, hash)
	j.Papers = &managers.Papers{Seal: sign}
	return err
}

// passports checks passports, and remembers whose certificates it has seen.
type passports struct {
	authorities func() Authorities // nil: nothing is checked
	mu          sync.Mutex
	known       map[[sha256.Size]byte]*signer
}

// signer is who signs passports.
type signer struct {
	cert  *x509.Certificate
	chain [][]byte       // kept once for all jobs
	by    *x509.CertPool // authorities of which one vouches for him
	until time.Time
}

// Bounds of what comes with a passport, and of the signers that are remembered.
const (
	maxChain   = 10
	maxCerts   = 32 << 10 // bytes of a chain
	maxSigners = 1000
	minRSA     = 1024 // bits; a key of a hundred thousand takes seconds
	maxRSA     = 16384
)

// check says what is wrong with a passport, and lets jobs of one broker share its certificates.
func (p *passports) check(j *managers.Job) error {
	if p.authorities == nil {
		return nil
	}
	if j.Papers == nil {
		return fmt.Errorf("passport of %.80q: not signed", j.ID)
	}
	s, err := p.signer(j.Papers.Chain)
	if err != nil {
		return fmt.Errorf("passport of %.80q: %w", j.ID, err)
	}
	if err := named(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{s.cert}}, j.Broker); err != nil {
		return fmt.Errorf("passport of %.80q: broker %.80s: %w", j.ID, j.Broker, err)
	}
	text, err := signedText(j)
	if err != nil {
		return err
	}
	if err := s.cert.CheckSignature(algorithmOf(s.cert), text, j.Papers.Seal); err != nil {
		return fmt.Errorf("passport of %.80q: not signed by its broker %.80s: %w", j.ID, j.Broker, err)
	}
	j.Papers.Chain = s.chain
	return nil
}

// algorithmOf is how a certificate's key signs passports.
func algorithmOf(cert *x509.Certificate) x509.SignatureAlgorithm {
	switch cert.PublicKey.(type) {
	case *rsa.PublicKey:
		return x509.SHA256WithRSA
	case *ecdsa.PublicKey:
		return x509.ECDSAWithSHA256
	case ed25519.PublicKey:
		return x509.PureEd25519
	}
	return x509.UnknownSignatureAlgorithm
}

// signer finds out whose certificates these are.
func (p *passports) signer(chain [][]byte) (*signer, error) {
	size := 0
	for _, der := range chain {
		size += len(der)
	}
	if len(chain) == 0 || len(chain) > maxChain || size > maxCerts {
		return nil, fmt.Errorf("%d certificates of %d bytes: want 1 to %d of %d at most", len(chain), size, maxChain, maxCerts)
	}
	sum := sumOf(chain)
	p.mu.Lock()
	s := p.known[sum]
	p.mu.Unlock()
	believed := p.authorities()
	if s != nil && s.by == believed.Roots() && time.Now().Before(s.until) {
		return s, nil
	}
	s, err := verify(chain, believed)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxSigners {
		p.known = map[[sha256.Size]byte]*signer{}
	}
	needed := sumOf(s.chain) // others may have added certificates that nobody needs, each time others
	if k := p.known[needed]; k != nil && k.by == s.by {
		s.chain = k.chain
	}
	p.known[sum], p.known[needed] = s, s
	return s, nil
}

// sumOf is by what a chain is known.
func sumOf(chain [][]byte) [sha256.Size]byte {
	hash := sha256.New()
	for _, der := range chain {
		fmt.Fprintf(hash, "%d ", len(der))
		hash.Write(der)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// recheck is after how long certificates are looked at again, as revocation lists run out.
const recheck = 5 * time.Minute

// verify checks certificates against the authorities.
func verify(chain [][]byte, authorities Authorities) (*signer, error) {
	certs, between := make([]*x509.Certificate, len(chain)), x509.NewCertPool()
	for i, der := range chain {
		var err error
		if certs[i], err = x509.ParseCertificate(der); err != nil {
			return nil, err
		}
		if key, ok := certs[i].PublicKey.(*rsa.PublicKey); ok && (key.N.BitLen() < minRSA || key.N.BitLen() > maxRSA) {
			return nil, fmt.Errorf("an RSA key of %d bits: want %d to %d", key.N.BitLen(), minRSA, maxRSA)
		}
		if i > 0 {
			between.AddCert(certs[i])
		}
	}
	roots := authorities.Roots()
	chains, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err == nil {
		err = authorities.Check(chains)
	}
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(recheck)
	if certs[0].NotAfter.Before(until) {
		until = certs[0].NotAfter
	}
	return &signer{certs[0], needed(chains[0]), roots, until}, nil
}

// needed is a chain without the authority at its end, which everybody has.
func needed(chain []*x509.Certificate) (list [][]byte) {
	for _, cert := range chain[:max(1, len(chain)-1)] {
		list = append(list, cert.Raw)
	}
	return list
}

// chainOf are the certificates that the other side of a connection showed.
func chainOf(state *tls.ConnectionState) (chain [][]byte) {
	if state != nil {
		for _, cert := range state.PeerCertificates {
			chain = append(chain, cert.Raw)
		}
	}
	return chain
}
