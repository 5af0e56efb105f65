package credential_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// spoilsFirst is a TLS server that breaks its first connections off in the
// middle of the handshake, as A-REX does now and then. Each connection begins
// with a word in the clear, where it has one.
func spoilsFirst(t *testing.T, conf *tls.Config, spoilt int, word string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if word != "" {
					if got, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil || got != word {
						return
					}
					_, _ = c.Write([]byte("go on\n"))
				}
				if n < spoilt {
					_, _ = c.Read(make([]byte, 64)) // the beginning of its hello
					return
				}
				secure := tls.Server(c, conf)
				_, _ = secure.Read(make([]byte, 1))
			}()
		}
	}()
	return l.Addr().String()
}

func gridTrust(t *testing.T, ca *testbed.CA) *credential.Trust {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// A handshake that is spoilt is repeated once, what is agreed on in the clear
// before it is said again, and who asks for a certificate is told of.
func TestDialAgain(t *testing.T) {
	ca := testbed.NewCA(t, "Grid", time.Now(), nil)
	clients := x509.NewCertPool()
	clients.AddCert(ca.Cert)
	conf := &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	for _, spoilt := range []int{0, 1, 2} {
		var words, asked int
		d := &credential.Dialer{Trust: gridTrust(t, ca),
			Before: func(_ context.Context, c net.Conn) error {
				words++
				if _, err := c.Write([]byte("secure\n")); err != nil {
					return err
				}
				_, err := c.Read(make([]byte, 6))
				return err
			},
			Asked: func(authorities [][]byte) {
				if asked++; len(authorities) != 1 || string(authorities[0]) != string(ca.Cert.RawSubject) {
					t.Errorf("it lists %q", authorities)
				}
			}}
		c, err := d.Dial(t.Context(), "tcp", spoilsFirst(t, conf, spoilt, "secure\n"))
		if err == nil {
			c.Close()
		}
		if (err == nil) != (spoilt < 2) || words != min(spoilt+1, 2) {
			t.Errorf("%d spoilt handshakes: %v after %d attempts", spoilt, err, words)
		}
		if want := 1; spoilt < 2 && asked != want {
			t.Errorf("%d spoilt handshakes: asked %d times for a certificate", spoilt, asked)
		}
	}
}

// What is agreed on in the clear ends when the attempt does, and its refusal is the error.
func TestDialBefore(t *testing.T) {
	ca := testbed.NewCA(t, "Grid", time.Now(), nil)
	addr := spoilsFirst(t, &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}, 0, "")
	no := errors.New("no such extension")
	d := &credential.Dialer{Trust: gridTrust(t, ca), Before: func(context.Context, net.Conn) error { return no }}
	if _, err := d.DialTLS(t.Context(), "tcp", addr); !errors.Is(err, no) {
		t.Error(err)
	}
	d.Timeout = 50 * time.Millisecond
	d.Before = func(ctx context.Context, _ net.Conn) error { <-ctx.Done(); return ctx.Err() }
	if c, err := d.DialTLS(t.Context(), "tcp", addr); !errors.Is(err, context.DeadlineExceeded) || c != nil {
		t.Errorf("%v, %v", c, err)
	}
}
