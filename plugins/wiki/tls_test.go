package wiki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"gridbroker/batch/maui"
)

// TestTLS: over wikis:// commands work for who trusts the server's authority;
// who does not, or speaks plainly, gets an error, and the link goes on.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	cluster := NewCluster([]Node{{Node: maui.Node{Name: "n1", Procs: 2}}}, time.Now)
	if err := cluster.Submit(Job{Job: maui.Job{ID: "j", Tasks: 1, Limit: 60, Queued: time.Now().Unix() - 1}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{Manager: cluster, Now: time.Now, Timeout: 5 * time.Second}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- server.Serve(ctx, tls.NewListener(plain, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}))
	}()
	defer func() { cancel(); <-done }()
	open := func(scheme string, roots *x509.CertPool) *Client {
		c, err := ParseURL(scheme + "://" + plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if c.TLS != nil {
			c.TLS.RootCAs = roots
		}
		c.Timeout = 2 * time.Second
		return c
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	var unknown x509.UnknownAuthorityError
	if _, err := open("wikis", x509.NewCertPool()).Nodes(t.Context()); !errors.As(err, &unknown) {
		t.Errorf("an unknown authority: %v", err)
	}
	if _, err := open("wiki", nil).Nodes(t.Context()); err == nil {
		t.Error("a plain command was answered")
	}
	c := open("wikis", trusted)
	if err := c.Start(t.Context(), "j", []string{"n1"}); err != nil {
		t.Fatal(err)
	}
	jobs, err := c.Jobs(t.Context(), time.Time{})
	if err != nil || len(jobs) != 1 || jobs[0].State != maui.JobRunning {
		t.Errorf("%+v, %v: want j running", jobs, err)
	}
}
