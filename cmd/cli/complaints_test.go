package cli_test

import (
	"context"
	"crypto"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins/all"
	"gridbroker/testdata/testbed"
)

// TestComplaintsOfServers: what a daemon's server says of its clients goes where all
// that the command says goes, and is escaped there.
func TestComplaintsOfServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := testbed.NewCA(t, "Authority", time.Now(), nil).Server(nil)
	testbed.WriteFile(t, filepath.Join(dir, "cert.pem"), testbed.PEM(id.Leaf), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "key.pem"), testbed.KeyPEM(t, id.PrivateKey.(crypto.Signer)), 0o600)
	var out, errs syncBuffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(ctx, cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()},
			[]string{"agent", "queues", "--json", "--lrms", "local:", "--listen", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem"})
	}()
	defer func() { stop(); <-ended }()
	var serving struct{ Listen string }
	for end := time.Now().Add(time.Minute); json.Unmarshal([]byte(out.String()), &serving) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not serve:\n%s%s", out.String(), errs.String())
		}
	}
	conn, err := net.Dial("tcp", serving.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	io.Copy(io.Discard, conn)
	for end := time.Now().Add(time.Minute); !strings.Contains(errs.String(), "grid: http: TLS handshake error from 127.0.0.1:"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nobody complains:\n%s", errs.String())
		}
	}
}
