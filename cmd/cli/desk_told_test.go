package cli_test

import (
	"context"
	"crypto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins/all"
	"gridbroker/testdata/testbed"
)

// TestDeskTellsItsAddress: a desk that listens on every address tells users the host of its manager's name, which they can
// type, and not that of no machine.
func TestDeskTellsItsAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := testbed.NewCA(t, "Authority", time.Now(), nil)
	id := ca.Server(nil)
	testbed.WriteFile(t, filepath.Join(dir, "cert.pem"), testbed.PEM(id.Leaf), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "key.pem"), testbed.KeyPEM(t, id.PrivateKey.(crypto.Signer)), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "ca.pem"), testbed.PEM(ca.Cert), 0o600)
	var out, errs syncBuffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(ctx, cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()},
			[]string{"manager", "serve", "--name", "https://localhost:7700", "--listen", "127.0.0.1:0", "--users", ":0", "--users-ca", dir, "--metrics", "",
				"--dir", filepath.Join(dir, "manager"), "--cert", "cert.pem", "--key", "key.pem", "--ca", "ca.pem"})
	}()
	defer func() { stop(); <-ended }()
	for end := time.Now().Add(time.Minute); !strings.Contains(errs.String(), "users hand in jobs at tree://localhost:"); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(errs.String(), "users hand in jobs") || time.Now().After(end) {
			t.Fatalf("it tells:\n%s%s", out.String(), errs.String())
		}
	}
}
