package credential_test

import (
	"crypto"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// What a server built on OpenSSL, as A-REX is, answers to certificates that
// are wrong in different ways: each refusal is told apart, in both versions of
// TLS.
func TestRefusalsOfOpenSSL(t *testing.T) {
	p := newPKI(t)
	ca := testbed.OpenCA(t, p.path("ca.pem"), p.path("ca.key"), time.Now())
	server := ca.Server(nil)
	p.write("server.pem", string(testbed.PEM(server.Leaf)))
	p.write("server.key", string(testbed.KeyPEM(t, server.PrivateKey.(crypto.Signer))))
	alice, rita := ca.Issue("Alice", nil), ca.Issue("Rita", nil)
	p.write("crl.der", string(ca.CRL(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), rita.Cert.SerialNumber)))
	p.run("openssl", "crl", "-inform", "DER", "-in", "crl.der", "-out", "crl.pem")
	stranger := testbed.NewCA(t, "Elsewhere", time.Now(), nil).Issue("Alice", nil)
	now := time.Now()
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: p.path("certificates"), CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"-tls1_2", "-tls1_3"} {
		url := p.serve(version)
		for _, tt := range []struct {
			want  string
			id    testbed.Identity
			proxy credential.ProxyOptions
		}{
			{"<nil>", alice, credential.ProxyOptions{}},
			{"refused.revoked", rita, credential.ProxyOptions{}},
			{"refused.unknown-ca", stranger, credential.ProxyOptions{}},
			{"refused.expired", alice, credential.ProxyOptions{Now: now.Add(-2 * time.Hour), Lifetime: time.Hour}},
			{"refused.bad-certificate", alice, credential.ProxyOptions{Now: now.Add(2 * time.Hour)}},
		} {
			x, err := credential.NewX509([]*x509.Certificate{tt.id.Cert}, tt.id.Key, "test")
			if err != nil {
				t.Fatal(err)
			}
			if x, err = x.NewProxy(tt.proxy); err != nil {
				t.Fatal(err)
			}
			if got := refusal(trust, x, url); got != tt.want {
				t.Errorf("%s: %s, want %s", version, got, tt.want)
			}
		}
		if got := refusal(trust, nil, url); got != "refused.certificate-required" {
			t.Errorf("%s without a certificate: %s", version, got)
		}
	}
}

// refusal asks with a credential and names the finding.
func refusal(trust *credential.Trust, x *credential.X509, url string) string {
	client := trust.HTTPClient(x, 10*time.Second)
	defer client.CloseIdleConnections()
	resp, err := client.Get(url)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return "<nil>"
	}
	if f := (&credential.Set{Trust: trust, X509: x}).Explain("localhost", err); f != nil {
		return f.ID
	}
	return err.Error()
}

// serve starts OpenSSL's own server, which asks for certificates and looks
// them up in the revocation list.
func (p *pki) serve(version string) (url string) {
	p.t.Helper()
	_, port, _ := net.SplitHostPort(testbed.FreeAddress(p.t))
	cmd := exec.CommandContext(p.t.Context(), "openssl", "s_server", "-accept", "127.0.0.1:"+port, "-cert", "server.pem", "-key", "server.key", "-CAfile", "ca.pem", "-Verify", "3",
		"-verify_return_error", "-allow_proxy_certs", "-crl_check_all", "-CRL", "crl.pem", "-quiet", "-www", version)
	cmd.Dir = p.dir
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			return "https://localhost:" + port + "/"
		}
		if !strings.Contains(err.Error(), "refused") && !errors.Is(err, net.ErrClosed) {
			p.t.Fatal(err)
		}
	}
	p.t.Fatal("openssl s_server does not come up")
	return ""
}
