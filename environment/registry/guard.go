package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"gridbroker/credential"
)

// A guard bounds where a registry may lead: it redirects to stores of its blobs and names the server of its tokens, and
// the node that follows reaches more than whoever runs the registry. Plain HTTP is for registries of this machine alone,
// and only they lead to addresses of this machine and of its links.
type guard struct {
	home    string // the registry's host
	timeout time.Duration
	inner   *credential.Transport
	proxies sync.Map // hosts of the site's own proxies
	shown   shown
}

// maxDocument bounds manifests and configurations in bytes; the OCI distribution specification asks registries for 4 MiB.
const maxDocument = 4 << 20

// maxParts bounds the parts of one, of which a list or an object has one for each of its members: each takes up to a hundred
// times its bytes in memory.
const maxParts = 100_000

func newGuard(home string, timeout time.Duration) *guard {
	g := &guard{home: home, timeout: timeout, inner: credential.Wary(http.DefaultTransport.(*http.Transport).Clone())}
	g.inner.ResponseHeaderTimeout = timeout
	g.inner.DialContext = g.dial
	proxy := g.inner.Proxy
	g.inner.Proxy = func(r *http.Request) (at *url.URL, err error) {
		if proxy != nil {
			at, err = proxy(r)
		}
		if at != nil {
			g.proxies.Store(at.Hostname(), true)
		}
		return at, err
	}
	return g
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !(credential.ThisMachine(g.home) && credential.ThisMachine(r.URL.Hostname())) {
		return nil, fmt.Errorf("registry %s leads to %s://%s: only HTTPS is followed", g.home, r.URL.Scheme, r.URL.Host)
	}
	g.shown.note(r)
	ctx, cancel := context.WithCancel(r.Context())
	resp, err := credential.ThroughProxy(g.inner).RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &paced{body: resp.Body, home: g.home, cancel: cancel, window: 2 * g.timeout}
	if !(asksForBlob(r) && resp.StatusCode/100 == 2) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&short{resp.Body, g.home, 2 * maxDocument, maxParts}, resp.Body}
	}
	return resp, nil
}

// asksForBlob tells whether it was a blob that was asked for, before any redirects: whoever reads it knows its size.
func asksForBlob(r *http.Request) bool {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return strings.Contains(r.URL.Path, "/blobs/")
}

// short is an answer of so many bytes and parts at most.
type short struct {
	r     io.Reader
	home  string
	left  int64
	parts int
}

// Read implements io.Reader.
func (s *short) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, fmt.Errorf("the answer of registry %s is too long", s.home)
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if s.parts -= bytes.Count(p[:n], []byte(",")) + bytes.Count(p[:n], []byte("{")); s.parts < 0 {
		return 0, fmt.Errorf("the answer of registry %s has too many parts", s.home)
	}
	return n, err
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: g.timeout}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, own := g.proxies.Load(host); !own && host != g.home && !credential.ThisMachine(g.home) {
		d.Control = func(_, address string, _ syscall.RawConn) error { return g.outside(host, address) }
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &impatient{conn, g.timeout}, nil
}

// outside refuses addresses of this machine and its links, however they are named.
func (g *guard) outside(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := at.Addr().Unmap(); ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
		return fmt.Errorf("registry %s leads to %s, which is %s: not followed", g.home, host, ip)
	}
	return nil
}

// An impatient connection ends when its other side is silent for too long, within an answer too.
type impatient struct {
	net.Conn
	timeout time.Duration
}

// Read implements io.Reader.
func (c *impatient) Read(p []byte) (int, error) {
	c.SetReadDeadline(time.Now().Add(c.timeout))
	return c.Conn.Read(p)
}

// Write implements io.Writer; an answer is not due as long as something is sent.
func (c *impatient) Write(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.timeout))
	return c.Conn.Write(p)
}
