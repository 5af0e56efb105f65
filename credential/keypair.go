package credential

import (
	"crypto/tls"
	"fmt"
)

// KeyPair reads a daemon's certificate and its private key, a file that ReadSecret
// takes. What it returns is the pair for a handshake: where the files have been
// written anew since, that of now. New files that cannot be used, or do not go together, are
// told once, and the pair before them is shown until they can.
func KeyPair(env Env, certFile, keyFile string, tell func(error)) (own func() *tls.Certificate, err error) {
	read := func() (*tls.Certificate, error) { return readHostPair(env, certFile, keyFile) }
	k, err := newReread(env, lookAt(certFile, keyFile), read, func(err error) {
		tell(fmt.Errorf("the new certificate cannot be used, the one before it is still shown: %w", err))
	})
	if err != nil {
		return nil, err
	}
	return k.current, nil
}

func readHostPair(env Env, certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := readPublic("file", "the certificate", certFile)
	if err != nil {
		return nil, err
	}
	key, err := ReadSecret(env, keyFile)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	return &pair, nil
}
