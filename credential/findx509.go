package credential

import (
	"crypto"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// FindX509 looks for the X.509 credential to use, in the field's order: files
// named in opts; $X509_USER_PROXY; /tmp/x509up_u<uid>; $X509_USER_CERT and
// $X509_USER_KEY; ~/.globus/usercert.pem and userkey.pem; ~/.globus/usercred.p12.
// What the user or the environment names is used or is an error: nothing else
// is then tried. Encrypted keys are opened through opts.Passphrase.
// All errors are a *Finding.
func FindX509(env Env, opts Options) (*X509, error) {
	switch {
	case opts.Proxy != "":
		return readProxy(env, opts.Proxy)
	case opts.Cert != "":
		return readPair(env, opts.Cert, opts.Key, opts.Passphrase)
	case env.getenv("X509_USER_PROXY") != "":
		return readProxy(env, env.ProxyPath())
	}
	x, err := readProxy(env, env.ProxyPath())
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return x, err
	}
	return FindUserCert(env, opts)
}

// FindUserCert looks for the user's own certificate and key, from which
// proxies are made: as FindX509, without the proxies.
func FindUserCert(env Env, opts Options) (*X509, error) {
	if opts.Cert != "" {
		return readPair(env, opts.Cert, opts.Key, opts.Passphrase)
	}
	if cert := env.getenv("X509_USER_CERT"); cert != "" {
		return readPair(env, cert, env.getenv("X509_USER_KEY"), opts.Passphrase)
	}
	if env.Home == "" {
		return nil, absent(env)
	}
	if cert := env.home(".globus", "usercert.pem"); exists(cert) {
		return readPair(env, cert, env.home(".globus", "userkey.pem"), opts.Passphrase)
	}
	for _, p12 := range []string{env.home(".globus", "usercred.p12"), env.home(".arc", "usercred.p12")} {
		if exists(p12) {
			return readPair(env, p12, "", opts.Passphrase)
		}
	}
	if cert := env.home(".arc", "usercert.pem"); exists(cert) {
		return readPair(env, cert, env.home(".arc", "userkey.pem"), opts.Passphrase)
	}
	return nil, absent(env)
}

func absent(env Env) *Finding {
	return &Finding{ID: "x509.absent", Severity: Note, What: "no X.509 credential found",
		Why:  "looked at $X509_USER_PROXY, " + env.ProxyPath() + ", $X509_USER_CERT, ~/.globus and ~/.arc",
		Mend: "put usercert.pem and userkey.pem into ~/.globus, then: grid auth proxy", cause: fs.ErrNotExist}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readProxy reads a file that holds certificate, key and chain.
func readProxy(env Env, path string) (*X509, error) {
	data, err := readSecret(env, "x509", "proxy", path)
	if err != nil {
		if f := asFinding(err); f.ID == "x509.absent" {
			f.Mend = "grid auth proxy"
		}
		return nil, err
	}
	defer clear(data)
	if !looksPEM(data) {
		return nil, problem("x509.malformed", path, "the proxy is not a PEM file", "it has no -----BEGIN line", "grid auth proxy")
	}
	return ParseX509(path, data)
}

// readPair reads a certificate file and a key file; without a key file the
// certificate's own file holds the key, as PEM or PKCS#12.
func readPair(env Env, certPath, keyPath string, ask askFunc) (*X509, error) {
	if keyPath == "" || keyPath == certPath {
		return readBundle(env, certPath, ask)
	}
	data, err := readPublic("x509", "certificate", certPath)
	if err != nil {
		return nil, err
	}
	certs, _, err := parsePEM(certPath, data, func(string) ([]byte, error) { return nil, errEncrypted })
	if err != nil {
		return nil, keyProblem(certPath, err)
	}
	secret, err := readSecret(env, "x509", "private key", keyPath)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	_, key, err := parsePEM(keyPath, secret, ask)
	if err != nil {
		return nil, keyProblem(keyPath, err)
	}
	return NewX509(certs, key, certPath)
}

func readBundle(env Env, path string, ask askFunc) (*X509, error) {
	data, err := readSecret(env, "x509", "certificate and key", path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	var certs []*x509.Certificate
	var key crypto.Signer
	if looksPEM(data) && !strings.HasSuffix(path, ".p12") {
		certs, key, err = parsePEM(path, data, ask)
	} else {
		certs, key, err = parseP12(path, data, ask)
	}
	if err != nil {
		return nil, keyProblem(path, err)
	}
	return NewX509(certs, key, path)
}
