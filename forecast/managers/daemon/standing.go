package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gridbroker/asked"
)

// standing is whether the authorities of now believe the certificate that was shown when a connection was made.
type standing struct {
	mu    sync.Mutex
	by    *x509.CertPool // who was asked last
	at    time.Time      // and when
	holds error
}

// askAgain is after how long authorities that have not changed are asked again: their revocation lists run out.
const askAgain = time.Minute

// asks tells why they do not. They are asked once, and again where they were read anew; nil authorities believe all.
func (s *standing) asks(state *tls.ConnectionState, authorities Authorities) error {
	if authorities == nil || state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	roots := authorities.Roots()
	if s.by == roots && time.Since(s.at) < askAgain {
		return s.holds
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	chains, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err == nil {
		err = authorities.Check(chains)
	}
	s.by, s.at, s.holds = roots, time.Now(), err
	return s.holds
}

type standingKey struct{}

// withStanding gives a connection of a server its standing.
func withStanding(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, standingKey{}, new(standing))
}

// renewed is the transport of a client whose connections are those that the authorities of now let it make: where they were read
// anew, new ones are made. What is under way on older ones goes on, links until they find out themselves.
type renewed struct {
	config  *tls.Config
	connect dialer
	window  int // of a stream, in bytes; 0: that of net/http
	mu      sync.Mutex
	by      *x509.CertPool
	under   *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *renewed) RoundTrip(r *http.Request) (*http.Response, error) {
	under, err := t.current()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	resp, err := under.RoundTrip(r)
	if asked.Wanted(r.Context()) {
		came := fmt.Sprint("no answer: ", err)
		if err == nil {
			came = strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
		}
		asked.Tell(r.Context(), "%s %s: %s (%v)", r.Method, asked.URL(r.URL), came, time.Since(began).Round(time.Millisecond))
	}
	return resp, err
}

func (t *renewed) current() (*http.Transport, error) {
	c, err := t.config.GetConfigForClient(nil)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.under == nil || t.by != c.RootCAs {
		if t.under != nil {
			t.under.CloseIdleConnections()
		}
		t.by, t.under = c.RootCAs, transport(t.config, t.connect, t.window)
	}
	return t.under, nil
}

// CloseIdleConnections is for http.Client's method of this name.
func (t *renewed) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.under != nil {
		t.under.CloseIdleConnections()
	}
}
