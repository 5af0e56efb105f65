package credential_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// What a host gets whose certificate is of a public authority: nothing of
// value, unless the user named it. The system's authorities are read once in a
// process: the test runs in one of its own.
func TestPublicAuthority(t *testing.T) {
	const child = "GRID_TEST_PUBLIC_AUTHORITY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPublicAuthority$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	public, grid := testbed.NewCA(t, "Public", time.Now(), nil), testbed.NewCA(t, "Grid", time.Now(), nil)
	save := func(name string, ca *testbed.CA) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	save("grid.pem", grid)
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	t.Setenv("SSL_CERT_FILE", save("public.crt", public))
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	named := credential.HostPatterns([]string{"127.0.0.1"})
	for name, c := range map[string]struct {
		ca     *testbed.CA
		dialer credential.Dialer
		want   string // id of the finding
	}{
		"grid":                        {grid, credential.Dialer{Guarded: true}, ""},
		"public, nothing at stake":    {public, credential.Dialer{}, ""},
		"public, something at stake":  {public, credential.Dialer{Guarded: true}, "server.public-ca"},
		"public, named":               {public, credential.Dialer{Guarded: true, Public: named}, ""},
		"public, another named":       {public, credential.Dialer{Guarded: true, Public: credential.HostPatterns([]string{"127.0.0.2"})}, "server.public-ca"},
		"of nobody, nothing at stake": {testbed.NewCA(t, "Other", time.Now(), nil), credential.Dialer{}, "server.unknown-ca"},
	} {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{c.ca.Server(nil)}})
		if err != nil {
			t.Fatal(err)
		}
		go serveHandshakes(l)
		c.dialer.Trust = trust
		conn, err := c.dialer.DialTLS(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			conn.Close()
		} else {
			err = (&credential.Set{Trust: trust}).Explain("host", err)
		}
		if f, _ := errors.AsType[*credential.Finding](err); (f == nil) != (c.want == "") || f != nil && f.ID != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		l.Close()
	}
}

func serveHandshakes(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = c.(*tls.Conn).Handshake()
			_, _ = c.Read(make([]byte, 1))
		}()
	}
}

// A subordinate authority that is not in the directory escapes the policy of
// the one above it: what it signs is not believed.
func TestUnknownSubordinate(t *testing.T) {
	dir := t.TempDir()
	root := testbed.NewCA(t, "Root", time.Now(), nil)
	sub := root.Sub("Sub")
	save := func(ca *testbed.CA, name string) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{sub.Server(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go serveHandshakes(l)
	dial := func() error {
		trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
		if err != nil {
			return err
		}
		c, err := (&credential.Dialer{Trust: trust}).DialTLS(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		return err
	}
	save(root, "root.pem")
	if f, ok := errors.AsType[*credential.Finding](dial()); !ok || f.ID != "trust.subordinate" {
		t.Errorf("%v", dial())
	}
	save(sub, "sub.pem")
	if err := dial(); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := dial(); err == nil {
		t.Error("a directory of authorities that everybody can write to is used")
	}
}

// TestAuthoritiesThatAllMayExchange: a directory of authorities in whose place everybody can put another one is not used, nor is
// a file there that everybody can write to.
func TestAuthoritiesThatAllMayExchange(t *testing.T) {
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	alice := ca.Issue("Alice", nil)
	above := filepath.Join(t.TempDir(), "above")
	dir := filepath.Join(above, "certificates")
	testbed.WriteFile(t, filepath.Join(dir, "ca.pem"), testbed.PEM(ca.Cert), 0o644)
	link, through := filepath.Join(t.TempDir(), "link"), filepath.Join(above, "link")
	if err := errors.Join(os.Symlink(dir, link), os.Symlink(dir, through)); err != nil {
		t.Fatal(err)
	}
	believed := func(dir string) error {
		trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
		if err != nil {
			return err
		}
		return trust.VerifyChain([]*x509.Certificate{alice.Cert})
	}
	for _, c := range []struct {
		above, file fs.FileMode
		dir         string
		well        bool
	}{{0o755, 0o644, dir, true}, {0o777 | fs.ModeSticky, 0o644, dir, true}, {0o775, 0o664, dir, true}, {0o777, 0o644, dir, false}, {0o777, 0o644, link, false},
		{0o755, 0o644, link, true}, {0o755, 0o646, dir, false}, {0o777, 0o644, through, false}} {
		if err := errors.Join(os.Chmod(above, c.above), os.Chmod(filepath.Join(dir, "ca.pem"), c.file)); err != nil {
			t.Fatal(err)
		}
		if err := believed(c.dir); (err == nil) != c.well {
			t.Errorf("%s of %v, a file of %v: %v", c.dir, c.above, c.file, err)
		}
	}
}
