package main_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
		"desk": func(t *testing.T) (*daemon, hostFiles) {
			h, users := newHostFiles(t), testbed.FreeAddress(t)
			d, _, _ := newManager(t, "--users", users, "--users-ca", h.install(), "--users-cert", filepath.Join(h.v.dir, "cert.pem"), "--users-key", filepath.Join(h.v.dir, "key.pem"))
			d.addr = users
			return d, h
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

// install puts their authority into a directory.
func (h hostFiles) install() string {
	dir := filepath.Join(h.v.dir, "authorities")
	h.ca.Install(dir, credential.NameHash(h.ca.Cert.RawSubject), "/DC=org/CN=CA")
	return dir
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
	client := shows(ca)
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

// shows is a client that shows a certificate of an authority.
func shows(ca *testbed.CA) *http.Client {
	user := ca.Issue("ann", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{user.Cert.Raw}, PrivateKey: user.Key}}}}}
}

// TestManagersReadAuthoritiesAnew: a manager lets in, and is content with, who shows a certificate of an authority that was added to
// its file while it runs, and no more of one that was taken out. What is half written changes nothing.
func TestManagersReadAuthoritiesAnew(t *testing.T) {
	t.Parallel()
	newer := testbed.NewCA(t, "Newer CA", time.Now(), nil)
	asked := make(chan bool, 100)
	parent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	parent.TLS = &tls.Config{Certificates: []tls.Certificate{newer.Server(nil)}}
	parent.Config.ErrorLog = log.New(io.Discard, "", 0)
	parent.StartTLS()
	defer parent.Close()
	d, _, _ := newManager(t, "--parent", parent.URL, "--beat", "100ms")
	h := hostFiles{t, nil, d.victim}
	file := filepath.Join(d.dir, "ca.pem")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	letIn := func() bool {
		resp, err := shows(newer).Get("https://" + d.addr + "/v1/state")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if letIn() || len(asked) > 0 {
		t.Fatal("an authority is believed that is not there")
	}
	testbed.WriteFile(t, file, append(first, testbed.PEM(newer.Cert)...), 0o644)
	h.until("its authority is there, and it is not let in", letIn)
	h.until("its authority is there, and it does not go to its parent", func() bool { return len(asked) > 0 })
	testbed.WriteFile(t, file, first[:len(first)/2], 0o644)
	h.until("it does not say that its authorities cannot be read", func() bool { return strings.Contains(d.words(), "authorities cannot be used") })
	if !letIn() {
		t.Error("half a file was believed")
	}
	testbed.WriteFile(t, file, first, 0o644)
	h.until("its authority is gone, and it is let in", func() bool { return !letIn() })
}

// TestEndsAreToldByADesk: a manager warns of the end of the certificate that its desk shows users, and of those by whom it believes them.
func TestEndsAreToldByADesk(t *testing.T) {
	t.Parallel()
	v, users, authorities := newVictim(t), testbed.FreeAddress(t), t.TempDir()
	old := testbed.NewCA(t, "Old CA", time.Now(), func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, 7) })
	old.Install(authorities, credential.NameHash(old.Cert.RawSubject), "/DC=org/CN=Old CA")
	own := old.Server(func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, 6) })
	cert, key := filepath.Join(v.dir, "users.pem"), filepath.Join(v.dir, "users.key")
	testbed.WriteFile(t, cert, testbed.PEM(own.Leaf), 0o644)
	testbed.WriteFile(t, key, testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	d, _, _ := newManager(t, "--users", users, "--users-ca", authorities, "--users-cert", cert, "--users-key", key)
	hostFiles{t, nil, v}.until("it does not tell what ends", func() bool {
		said := d.words()
		return strings.Contains(said, `what="host certificate" `) && strings.Contains(said, "what=authority")
	})
}

// TestEndsAreToldByDaemons: what ends soon is warned of by every daemon that people run, from its start on.
func TestEndsAreToldByDaemons(t *testing.T) {
	t.Parallel()
	ending := func(t *testing.T, v *victim) { // what daemons are with ends in a week
		old := testbed.NewCA(t, "Old CA", time.Now(), func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, 7) })
		old.Install(v.dir, credential.NameHash(old.Cert.RawSubject), "/DC=org/CN=Old CA")
		own := old.Server(func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, 6) })
		testbed.WriteFile(t, filepath.Join(v.dir, "ca.pem"), testbed.PEM(old.Cert), 0o644)
		testbed.WriteFile(t, filepath.Join(v.dir, "cert.pem"), testbed.PEM(own.Leaf), 0o644)
		testbed.WriteFile(t, filepath.Join(v.dir, "key.pem"), testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	}
	metrics := testbed.FreeAddress(t)
	for name, start := range map[string]func(*testing.T, *victim) *daemon{
		"agent": func(t *testing.T, v *victim) *daemon {
			return v.serve([]string{"X509_CERT_DIR=" + v.dir}, "agent", "run", "--lrms", "local:", "--cluster", "c", "--scheduler", "https://127.0.0.1:1", "--token-file", "token", "--listen", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem")
		},
		"manager": func(t *testing.T, v *victim) *daemon {
			return v.serve(nil, "manager", "serve", "--name", "https://"+testbed.FreeAddress(t), "--dir", filepath.Join(v.dir, "m"), "--ca", "ca.pem", "--cert", "cert.pem", "--key", "key.pem", "--metrics", metrics)
		},
		"scheduler": func(t *testing.T, v *victim) *daemon {
			return newRogueScheduled(t, nil, []string{"X509_CERT_DIR=" + v.dir}, fmt.Sprintf("cert = %q\nkey = %q\n", filepath.Join(v.dir, "cert.pem"), filepath.Join(v.dir, "key.pem")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			ending(t, v)
			testbed.WriteFile(t, filepath.Join(v.dir, "token"), []byte("secret"), 0o600)
			d := start(t, v)
			hostFiles{t, nil, v}.until("it does not tell what ends", func() bool {
				said := d.words()
				return strings.Contains(said, `what="host certificate"`) && strings.Contains(said, "what=authority")
			})
			if name != "manager" {
				return
			}
			resp, err := http.Get("http://" + metrics + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `grid_manager_certificate_end_seconds{kind="authority"} 6`) {
				t.Errorf("%s %v", text, err)
			}
		})
	}
}
