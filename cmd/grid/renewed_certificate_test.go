package main_test

import (
	"crypto"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/forecast/scheduler"
	"gridbroker/testdata/testbed"
)

// hostFiles are a daemon's certificate and key, in files that are written anew.
type hostFiles struct {
	t  *testing.T
	ca *testbed.CA
	v  *victim
}

// renew writes new ones, and says which certificate that is.
func (h hostFiles) renew() (serial string) {
	h.t.Helper()
	own := h.ca.Server(nil)
	for name, text := range map[string][]byte{"cert.pem": testbed.PEM(own.Leaf, h.ca.Cert), "key.pem": testbed.KeyPEM(h.t, own.PrivateKey.(crypto.Signer))} {
		path := filepath.Join(h.v.dir, name)
		testbed.WriteFile(h.t, path+".new", text, 0o600)
		if err := os.Rename(path+".new", path); err != nil {
			h.t.Fatal(err)
		}
	}
	return own.Leaf.SerialNumber.String()
}

// until waits for something that is about to be so.
func (h hostFiles) until(what string, so func() bool) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatal(what)
		}
	}
}

// TestRenewedCertificates: whoever connects to a daemon is shown the certificate that is in its files by
// then; nobody has to restart it.
func TestRenewedCertificates(t *testing.T) {
	t.Parallel()
	secured := []string{"--cert", "cert.pem", "--key", "key.pem"}
	for name, start := range map[string]func(*testing.T) (*daemon, hostFiles){
		"agent": func(t *testing.T) (*daemon, hostFiles) {
			h := newHostFiles(t)
			return h.v.serve(nil, append([]string{"agent", "run", "--lrms", "local:", "--cluster", "c", "--listen", "127.0.0.1:0"}, secured...)...), h
		},
		"cache": func(t *testing.T) (*daemon, hostFiles) {
			h := newHostFiles(t)
			return h.v.serve(nil, append([]string{"cache", "serve", "--dir", "cache", "--origin", "https://localhost/", "--listen", "127.0.0.1:0"}, secured...)...), h
		},
		"manager": func(t *testing.T) (*daemon, hostFiles) {
			d, _, _ := newManager(t)
			return d, hostFiles{t, testbed.NewCA(t, "CA", time.Now(), nil), d.victim}
		},
		"scheduler": func(t *testing.T) (*daemon, hostFiles) {
			h := newHostFiles(t)
			d := newRogueScheduled(t, nil, []string{"X509_CERT_DIR=" + h.v.dir}, fmt.Sprintf("cert = %q\nkey = %q\n", filepath.Join(h.v.dir, "cert.pem"), filepath.Join(h.v.dir, "key.pem")))
			return d, h
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, h := start(t)
			shown := func() string {
				c, err := tls.Dial("tcp", d.addr, &tls.Config{InsecureSkipVerify: true})
				if err != nil {
					return err.Error()
				}
				defer c.Close()
				return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
			}
			serial := h.renew()
			h.until("it shows the certificate of before", func() bool { return shown() == serial })
		})
	}
}

func newHostFiles(t *testing.T) hostFiles {
	h := hostFiles{t, testbed.NewCA(t, "CA", time.Now(), nil), newVictim(t)}
	h.renew()
	return h
}

// TestAgentShowsRenewedCertificate: where an agent's certificate is good no longer at its scheduler, the agent goes on
// with the one that is in its file by then.
func TestAgentShowsRenewedCertificate(t *testing.T) {
	t.Parallel()
	var shown, good atomic.Value
	good.Store("")
	h := newHostFiles(t)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			shown.Store(r.TLS.PeerCertificates[0].SerialNumber.String())
		}
		if shown.Load() != good.Load() {
			http.Error(w, `{"detail": "it ran out"}`, http.StatusUnauthorized)
			return
		}
		http.Error(w, "{}", http.StatusNotFound)
	}))
	own := h.ca.Server(nil)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequestClientCert}
	srv.StartTLS()
	defer srv.Close()
	dir := filepath.Join(h.v.dir, "certificates")
	h.ca.Install(dir, credential.NameHash(h.ca.Cert.RawSubject), "/DC=org/CN=CA")
	file := func(name string) string { return filepath.Join(h.v.dir, name) }
	h.v.env = append(h.v.env, "X509_CERT_DIR="+dir, "X509_USER_CERT="+file("cert.pem"), "X509_USER_KEY="+file("key.pem"))
	first := h.renew()
	good.Store(first)
	h.v.serve(nil, "agent", "run", "--lrms", "local:", "--cluster", "c", "--scheduler", srv.URL)
	h.until("the agent does not show its certificate", func() bool { return shown.Load() == first })
	second := h.renew()
	good.Store(second)
	h.until("the agent shows the certificate of before", func() bool { return shown.Load() == second })
}

// TestNewAuthority: who shows a certificate of an authority that is installed while a scheduler runs is let in.
func TestNewAuthority(t *testing.T) {
	t.Parallel()
	h := newHostFiles(t)
	authorities := t.TempDir()
	d := newRogueScheduled(t, nil, []string{"X509_CERT_DIR=" + authorities}, fmt.Sprintf("cert = %q\nkey = %q\n", filepath.Join(h.v.dir, "cert.pem"), filepath.Join(h.v.dir, "key.pem")))
	ca := testbed.NewCA(t, "Newer CA", time.Now(), nil)
	user := ca.Issue("ann", nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{user.Cert.Raw}, PrivateKey: user.Key}}}}}
	letIn := func() bool {
		resp, err := client.Get("https://" + d.addr + "/v1/ping")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var pong scheduler.Pong
		if err := json.NewDecoder(resp.Body).Decode(&pong); err != nil {
			t.Fatal(err)
		}
		return pong.LetIn
	}
	if letIn() {
		t.Fatal("let in by an authority that is not there")
	}
	ca.Install(authorities, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Newer CA")
	h.until("its authority is there, and it is not let in", letIn)
}
