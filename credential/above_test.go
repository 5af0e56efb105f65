package credential_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// TestThoseAboveHoldThoseBelow: a subordinate authority of the directory is held to the names and the length that those
// above it in the directory allow, although crypto/x509 looks no further than to it.
func TestThoseAboveHoldThoseBelow(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		root func(*x509.Certificate)
		subs int
		says string // "": it is believed
	}{
		"no bounds":           {nil, 1, ""},
		"its names":           {func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"localhost"} }, 1, ""},
		"names of others":     {func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.org"} }, 1, "not permitted"},
		"a name that is not":  {func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"localhost"} }, 1, "excluded"},
		"one may be below":    {func(c *x509.Certificate) { c.MaxPathLen = 1 }, 1, ""},
		"one, and two are":    {func(c *x509.Certificate) { c.MaxPathLen = 1 }, 2, "2 authorities below /DC=org/CN=Root CA, which may have 1"},
		"none may be below":   {func(c *x509.Certificate) { c.MaxPathLenZero = true }, 1, "1 authorities below"},
		"any number below":    {func(c *x509.Certificate) { c.MaxPathLen = -1 }, 2, ""},
		"names, two below it": {func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.org"} }, 2, "not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ca := testbed.NewCA(t, "Root CA", now, c.root)
			install := func() {
				testbed.WriteFile(t, dir+"/"+credential.NameHash(ca.Cert.RawSubject)+".0", testbed.PEM(ca.Cert), 0o644)
			}
			install()
			for n := range c.subs {
				ca = ca.Sub("Sub CA " + string(rune('1'+n)))
				install()
			}
			trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
			if err != nil {
				t.Fatal(err)
			}
			host, err := x509.ParseCertificate(ca.Server(nil).Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			err = trust.VerifyChain([]*x509.Certificate{host})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
