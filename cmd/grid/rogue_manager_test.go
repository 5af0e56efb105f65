package main_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// newManager is a manager of the tree, with two who have certificates of its authority.
func newManager(t *testing.T, more ...string) (d *daemon, rogue, honest tls.Certificate) {
	t.Helper()
	v := newVictim(t)
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	own := ca.Server(nil)
	testbed.WriteFile(t, filepath.Join(v.dir, "ca.pem"), testbed.PEM(ca.Cert), 0o644)
	testbed.WriteFile(t, filepath.Join(v.dir, "cert.pem"), testbed.PEM(own.Leaf), 0o644)
	testbed.WriteFile(t, filepath.Join(v.dir, "key.pem"), testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	client := func(name string) tls.Certificate {
		id := ca.Issue(name, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
		return tls.Certificate{Certificate: [][]byte{id.Cert.Raw}, PrivateKey: id.Key}
	}
	d = v.serve(nil, append([]string{"manager", "serve", "--name", "https://" + addr, "--dir", filepath.Join(v.dir, "m"), "--ca", "ca.pem", "--cert", "cert.pem", "--key", "key.pem", "--metrics", ""}, more...)...)
	return d, client("rogue"), client("honest")
}

// long is a body that is a text of so many bytes, and then says no more.
type long struct {
	ctx  context.Context
	left int
	said bool
}

// Read implements io.Reader.
func (l *long) Read(p []byte) (int, error) {
	if l.left <= 0 {
		<-l.ctx.Done()
		return 0, l.ctx.Err()
	}
	n := min(len(p), l.left)
	copy(p, bytes.Repeat([]byte("x"), n))
	if !l.said {
		p[0], l.said = '"', true
	}
	l.left -= n
	return n, nil
}

// settled is the most that a daemon has in memory until it has had no more for some seconds.
func (d *daemon) settled() (peak int64) {
	for still, began := 0, time.Now(); still < 6 && time.Since(began) < 45*time.Second; still++ {
		time.Sleep(time.Second)
		if now := d.memory(); now > peak+4<<20 {
			peak, still = now, 0
		}
	}
	return peak
}

// speaker connects to a daemon with a certificate by HTTP/2, anew.
func speaker(cert tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}}}}
}

// answered asks a daemon, three times at most, until it answers within twenty seconds: a busy machine may take
// longer once. It tells how long that took.
func answered(ctx context.Context, c *http.Client, url string) (took time.Duration, err error) {
	for range 3 {
		began := time.Now()
		ask, cancel := context.WithTimeout(ctx, 20*time.Second)
		r, _ := http.NewRequestWithContext(ask, "GET", url, nil)
		var resp *http.Response
		if resp, err = c.Do(r); err == nil {
			resp.Body.Close()
			if resp.StatusCode != 200 {
				err = fmt.Errorf("%s", resp.Status)
			}
		}
		cancel()
		if took = time.Since(began); err == nil {
			break
		}
	}
	return took, err
}

// TestOneBrokerAmongOthers: a certificate that begins requests and links to a manager by the hundred, with megabytes in each and no end,
// costs no more than a few of them, and another has its answer meanwhile.
func TestOneBrokerAmongOthers(t *testing.T) {
	testbed.Measures(t)
	for _, path := range []string{"/v1/jobs", "/v1/ended", "/v1/link"} {
		t.Run(path, func(t *testing.T) {
			d, rogue, honest := newManager(t)
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			state := "https://" + d.addr + "/v1/state"
			if _, err := answered(ctx, speaker(honest), state); err != nil {
				t.Fatal(err)
			}
			quiet := d.memory()
			for range 3 {
				c := speaker(rogue)
				for range 100 {
					go func() {
						r, _ := http.NewRequestWithContext(ctx, "POST", "https://"+d.addr+path, &long{ctx: ctx, left: 4 << 20})
						if resp, err := c.Do(r); err == nil {
							_, _ = io.Copy(io.Discard, resp.Body)
						}
					}()
				}
			}
			peak := d.settled() - quiet
			took, err := answered(t.Context(), speaker(honest), state)
			t.Logf("%d MB more; another was answered after %v, %v", peak>>20, took, err)
			if peak > harmMemory || err != nil {
				t.Errorf("%d MB, %v, %v", peak>>20, took, err)
			}
		})
	}
}
