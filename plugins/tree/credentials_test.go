package tree

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A certificate that stays keeps its connection for as long as a desk is spoken to, however often it is looked for; a new
// one is shown in a connection of its own.
func TestConnectionStaysWithItsCertificate(t *testing.T) {
	now, ca, dir := time.Now(), testbed.NewCA(t, "CA", time.Now(), nil), t.TempDir()
	ca.Install(dir, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=CA")
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	alice := func() *credential.X509 {
		id := ca.Issue("Alice", nil)
		x, err := credential.NewX509([]*x509.Certificate{id.Cert}, id.Key, "test")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var made atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}
	s.Config.ConnState = func(_ net.Conn, to http.ConnState) {
		if to == http.StateNew {
			made.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	shown := alice()
	opened, err := Open(plugins.Config{Now: func() time.Time { return now }, Credentials: func() (*credential.Set, error) {
		again := *shown // another one each time, as one that is read from a file
		return &credential.Set{X509: &again, Trust: trust}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*backend)
	t.Cleanup(func() { b.Close() })
	for turn, want := range []int32{1, 1, 1, 2, 2} {
		if turn == 3 {
			shown = alice()
		}
		c, err := b.client(strings.Replace(s.URL, "https", Scheme, 1))
		if err == nil {
			err = c.do(t.Context(), "ask", "/v1/jobs", nil, &struct{}{}, false)
		}
		if n := made.Load(); err != nil || n != want {
			t.Fatalf("question %d: %d connections, want %d, %v", turn, n, want, err)
		}
		now = now.Add(time.Minute)
	}
}
