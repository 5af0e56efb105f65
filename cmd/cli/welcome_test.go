package cli_test

import (
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins/all"
	"gridbroker/testdata/testbed"
)

// TestWelcomeTellsOfCredentials: the first words name the credential that would be used, and say of one that would not be why,
// and what to do.
func TestWelcomeTellsOfCredentials(t *testing.T) {
	t.Parallel()
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	for what, c := range map[string]struct {
		end  time.Duration // of the certificate, from now; 0: there is none
		want string
	}{
		"none":    {0, "credential   none (this machine and SSH need none"},
		"valid":   {time.Hour, "credential   /DC=org/CN=Alice\n"},
		"expired": {-time.Hour, "usercert.pem: expired 1 h 0 min ago; ask your certificate authority"},
	} {
		dir := t.TempDir()
		if c.end != 0 {
			id := ca.Issue("Alice", func(x *x509.Certificate) { x.NotAfter = time.Now().Add(c.end) })
			testbed.WriteFile(t, filepath.Join(dir, ".globus", "usercert.pem"), testbed.PEM(id.Cert), 0o600)
			testbed.WriteFile(t, filepath.Join(dir, ".globus", "userkey.pem"), testbed.KeyPEM(t, id.Key), 0o600)
		}
		code, out, errs := oneShotWith(t, dir, nil)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", what, code, out, errs)
		}
	}
}

// TestKeysAreNoCertificates: who has no key for SSH is told to get one, and not that the cluster refuses his certificate, which it was
// not shown; the exit code is that of credentials.
func TestKeysAreNoCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := testbed.NewCA(t, "CA", time.Now(), nil).Issue("Alice", nil)
	testbed.WriteFile(t, filepath.Join(dir, ".globus", "usercert.pem"), testbed.PEM(id.Cert), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, ".globus", "userkey.pem"), testbed.KeyPEM(t, id.Key), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true";`), 0o600)
	for verb, code := range map[string]int{"resources": 1, "submit j.jdl": 4} {
		args := append(strings.Fields(verb), "--info", "slurm+ssh://127.0.0.1:1/")
		got, out, errs := oneShotWith(t, dir, all.Backends(), args...)
		if got != code || !strings.Contains(errs, "ssh-add") || strings.Contains(out+errs, "X.509") || strings.Contains(out+errs, "Alice") {
			t.Errorf("%s: exit code %d\n%s%s", verb, got, out, errs)
		}
	}
}
