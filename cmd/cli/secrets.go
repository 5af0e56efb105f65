package cli

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gridbroker/credential"
)

// secretText reads a file with a secret of one line, which others can neither
// read nor exchange.
func secretText(d *deps, path string) (string, error) {
	text, err := credential.ReadSecret(credentialEnv(d), path)
	if err != nil {
		return "", err
	}
	defer clear(text)
	return strings.TrimSpace(string(text)), nil
}

// hostPair is a daemon's certificate with its key: at each handshake that which is in the
// files by then.
func hostPair(d *deps, cert, key string) (func() *tls.Certificate, error) {
	return credential.KeyPair(credentialEnv(d), abs(d, cert), abs(d, key), func(err error) { sayErr(d, "%v", err) })
}

// serverTLS is a server's configuration with its certificate and key; nil
// without a certificate.
func serverTLS(d *deps, cert, key string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	own, err := hostPair(d, cert, key)
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(), nil }, MinVersion: tls.VersionTLS12}, err
}

// databaseSecrets checks the files that hold the way into a PostgreSQL: the
// configuration where the address has a password, and those that the driver
// reads for the address.
func databaseSecrets(d *deps, config, address string) error {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil
	}
	home, get := d.env.Getenv("HOME"), u.Query().Get
	files := []string{cmp.Or(get("passfile"), d.env.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass")), cmp.Or(get("sslkey"), d.env.Getenv("PGSSLKEY"))}
	if _, secret := u.User.Password(); secret || get("password") != "" {
		files = append(files, config)
	}
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			continue // the driver tells of it where it matters
		}
		if _, err := credential.ReadSecret(credentialEnv(d), f); err != nil {
			return err
		}
	}
	return nil
}
