package credential

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"gridbroker/credential/voms"
)

// maxCerts bounds a chain.
const maxCerts = 32

// errEncrypted says that a key needs a passphrase and there was none to ask for.
var errEncrypted = errors.New("the private key is encrypted")

// passphraseError says that there was no passphrase to be had, or none that
// opens the key or the file.
type passphraseError struct{ error }

// Unwrap is what was wrong with the last passphrase, or with asking for it.
func (e *passphraseError) Unwrap() error { return e.error }

// askFunc asks for a passphrase.
type askFunc func(prompt string) ([]byte, error)

// parsePEM reads the certificates and the first private key of a PEM file.
// The key is nil when there is none; ask opens encrypted ones.
func parsePEM(path string, data []byte, ask askFunc) (certs []*x509.Certificate, key crypto.Signer, err error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" || block.Type == "TRUSTED CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
			}
			if err := voms.Checkable(c.PublicKey); err != nil {
				return nil, nil, err
			}
			if certs = append(certs, c); len(certs) > maxCerts {
				return nil, nil, fmt.Errorf("more than %d certificates", maxCerts)
			}
		case strings.HasSuffix(block.Type, "PRIVATE KEY") && key == nil:
			key, err = parseKey(path, block, ask)
			clear(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return certs, key, nil
}

// parseKey reads a private key block: PKCS#1, SEC 1, PKCS#8, and the
// encrypted forms of all three.
func parseKey(path string, block *pem.Block, ask askFunc) (crypto.Signer, error) {
	der := block.Bytes
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return openKey(path, ask, func(pass []byte) (any, error) {
			key, _, err := pkcs8.ParsePrivateKey(block.Bytes, pass)
			return key, err
		})
	case strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return openKey(path, ask, func(pass []byte) (any, error) { return openLegacy(block, pass) })
	}
	return signer(parseKeyDER(der))
}

// openLegacy opens a key encrypted in the PEM's own way (RFC 1423), which
// OpenSSL wrote for decades and user keys still have.
func openLegacy(block *pem.Block, pass []byte) (any, error) {
	//lint:ignore SA1019 the format is weak, but it is the format these files are in; we never write it
	der, err := x509.DecryptPEMBlock(block, pass)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	return parseKeyDER(der)
}

// openKey asks for the passphrase, up to three times.
func openKey(path string, ask askFunc, open func([]byte) (any, error)) (crypto.Signer, error) {
	if ask == nil {
		return nil, errEncrypted
	}
	var last error
	for range 3 {
		pass, err := ask("Passphrase for " + path + ": ")
		if err != nil {
			return nil, &passphraseError{err}
		}
		var key any
		key, last = open(pass)
		clear(pass)
		if last == nil {
			return signer(key, nil)
		}
	}
	return nil, &passphraseError{fmt.Errorf("the passphrase does not open the key: %w", last)}
}

func parseKeyDER(der []byte) (any, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the private key is in no known format")
}

func signer(key any, err error) (crypto.Signer, error) {
	if err != nil {
		return nil, err
	}
	if s, ok := key.(crypto.Signer); ok {
		return s, nil
	}
	return nil, fmt.Errorf("a private key of type %T cannot sign", key)
}

// parseP12 reads a PKCS#12 file.
func parseP12(path string, data []byte, ask askFunc) ([]*x509.Certificate, crypto.Signer, error) {
	if ask == nil {
		ask = func(string) ([]byte, error) { return nil, nil } // an empty passphrase may do
	}
	var last error
	for range 3 {
		pass, err := ask("Passphrase for " + path + ": ")
		if err != nil {
			return nil, nil, &passphraseError{err}
		}
		key, cert, cas, err := pkcs12.DecodeChain(data, string(pass))
		clear(pass)
		if err == nil {
			s, err := signer(key, nil)
			return append([]*x509.Certificate{cert}, cas...), s, err
		}
		if last = err; !errors.Is(err, pkcs12.ErrIncorrectPassword) {
			break
		}
	}
	if errors.Is(last, pkcs12.ErrIncorrectPassword) && len(data) > 0 {
		return nil, nil, &passphraseError{fmt.Errorf("the passphrase does not open the file: %w", last)}
	}
	return nil, nil, last
}

// ParseX509 reads a credential from PEM (a proxy file, or a certificate and
// its key together). Where says in messages where the bytes came from.
func ParseX509(where string, data []byte) (*X509, error) {
	certs, key, err := parsePEM(where, data, nil)
	if err != nil {
		return nil, keyProblem(where, err)
	}
	return NewX509(certs, key, where)
}

// keyProblem makes a finding of an error of parsePEM or parseP12.
func keyProblem(path string, err error) *Finding {
	if errors.Is(err, errEncrypted) {
		return problem("x509.key-encrypted", path, "the private key needs a passphrase", "", "grid auth proxy").because(err)
	}
	if _, ok := errors.AsType[*passphraseError](err); ok {
		return problem("x509.passphrase", path, "the private key could not be opened", "", "try again; a forgotten passphrase cannot be found again: ask for a new certificate").because(err)
	}
	return problem("x509.malformed", path, "cannot make sense of the file", "", "copy it again from where it came, or make it anew").because(err)
}

// looksPEM tells PEM from binary formats.
func looksPEM(data []byte) bool { return bytes.Contains(data, []byte("-----BEGIN ")) }
