package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// A certificate that has run out since its connection was made is nobody's any more: the server says so and ends the
// connection, on which a broker could hand in jobs for as long as it asked now and then.
func TestCertificateEndsOnAKeptConnection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	server, client := a.config(t, time.Hour), a.config(t, -time.Minute)
	server.Time = func() time.Time { return time.Now().Add(-30 * time.Minute) } // when TLS was agreed on
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Server(server, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	go s.ServeTLS(l, "", "")
	c := Client(client)
	for range 2 {
		var reused bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(said), "ran out at") {
			t.Errorf("%s %q %v", resp.Status, said, err)
		}
		if reused {
			t.Error("the connection goes on")
		}
	}
}

// config is that of somebody with a certificate for so long.
func (a *authority) config(t *testing.T, life time.Duration) *tls.Config {
	t.Helper()
	cert, key := a.issueFor(t, life)
	cfg, err := tlsConfig(a.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A link ends with the certificate that the other side shows.
func TestLinksEndWithTheirCertificates(t *testing.T) {
	t.Parallel()
	c := newConn(t.Context(), "https://localhost:1")
	defer c.end()
	c.shows(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{{NotAfter: time.Now().Add(50 * time.Millisecond)}}}, nil)
	select {
	case <-c.ctx.Done():
		if c.ctx.Err() != context.Canceled {
			t.Error(c.ctx.Err())
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
}
