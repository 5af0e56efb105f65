package ask

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// Services are believed by the authorities of the grid's directory, under the
// same bounds as without TLS.
func TestBoundTrust(t *testing.T) {
	ca := testbed.NewCA(t, "Grid", time.Now(), nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	trust := func() (*credential.Trust, error) {
		return credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	}
	serve := func(ca *testbed.CA) string {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("5")) }))
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return srv.URL
	}
	ours, other := serve(ca), serve(testbed.NewCA(t, "Other", time.Now(), nil))
	get := func(named []string, url string) (string, error) {
		c := &Client{HTTP: Bound(credential.Wary(http.DefaultTransport.(*http.Transport).Clone()), named, trust)}
		body, err := c.Get(t.Context(), url, "*/*")
		return string(body), err
	}
	if body, err := get([]string{ours}, ours); err != nil || body != "5" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := get([]string{other}, other); err == nil || !credential.Disbelieved(err) {
		t.Errorf("of another authority: %v", err)
	}
	if _, err := get(nil, ours); err == nil {
		t.Error("a host that nobody named is asked at a loopback address")
	} else if _, ok := errors.AsType[*credential.NotPublicError](err); !ok {
		t.Errorf("a host that nobody named: %v", err)
	}
}
