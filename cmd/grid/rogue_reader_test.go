package main_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// secured are the flags with which a daemon speaks TLS, and so HTTP/2.
func (v *victim) secured() []string {
	own := testbed.NewCA(v.t, "CA", time.Now(), nil).Server(nil)
	testbed.WriteFile(v.t, filepath.Join(v.dir, "cert.pem"), testbed.PEM(own.Leaf), 0o644)
	testbed.WriteFile(v.t, filepath.Join(v.dir, "key.pem"), testbed.KeyPEM(v.t, own.PrivateKey.(crypto.Signer)), 0o600)
	return []string{"--cert", "cert.pem", "--key", "key.pem"}
}

// asker asks a daemon from an address of this machine.
func asker(from net.IP) *http.Client {
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, DialContext: dial.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// TestOneReaderAmongOthers: who asks an agent or a read-ahead cache by HTTP/2 twenty things through each of many connections, and ends no
// question or reads no answer, costs little, and another address has its answer meanwhile.
func TestOneReaderAmongOthers(t *testing.T) {
	testbed.Measures(t)
	large := make([]byte, 8<<20)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(large))
	}))
	defer origin.Close()
	from := strings.Replace(origin.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		name, ask, path, method string
		args                    []string
	}{
		{"questions to an agent", "/metrics", "/forecast", "POST", []string{"agent", "run", "--lrms", "local:", "--cluster", "here", "--listen", "127.0.0.1:0"}},
		{"files of a cache", "/stats", "/file?url=" + url.QueryEscape(from+"/x"), "GET", []string{"cache", "serve", "--dir", "cache", "--origin", from + "/", "--listen", "127.0.0.1:0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVictim(t)
			if err := os.Mkdir(filepath.Join(v.dir, "cache"), 0o700); err != nil {
				t.Fatal(err)
			}
			d := v.serve([]string{"prlimit", "--nofile=4096:4096"}, append(c.args, v.secured()...)...)
			var rogues []*http.Client // who are connected
			for range 240 {
				one := asker(net.IPv4(127, 0, 0, 1))
				resp, err := one.Get("https://" + d.addr + c.ask)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				rogues = append(rogues, one)
			}
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			other := asker(net.IPv4(127, 0, 9, 9))
			if _, err := answered(ctx, other, "https://"+d.addr+c.ask); err != nil {
				t.Fatal(err)
			}
			quiet := d.memory()
			for _, one := range rogues {
				for range 20 {
					go func() {
						var body io.Reader
						if c.method == "POST" {
							body = &long{ctx: ctx, left: 63 << 10}
						}
						r, _ := http.NewRequestWithContext(ctx, c.method, "https://"+d.addr+c.path, body)
						if resp, err := one.Do(r); err == nil {
							<-ctx.Done()
							resp.Body.Close()
						}
					}()
				}
			}
			peak := d.settled() - quiet
			other.CloseIdleConnections()
			took, err := answered(t.Context(), other, "https://"+d.addr+c.ask)
			t.Logf("%d MB more; another was answered after %v, %v", peak>>20, took, err)
			if peak > harmMemory || err != nil {
				t.Errorf("%d MB, %v, %v", peak>>20, took, err)
			}
		})
	}
}
