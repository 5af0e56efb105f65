package ask

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"gridbroker/credential"
)

// Bound makes a client for services that others may have named: a host that the
// user did not name is asked only at a public address, so that nobody can send
// this machine to its own ports or its neighbours', whatever a name resolves
// to; and no redirect is followed. named are URLs of services and sources of
// the user's, whose hosts are asked wherever they are, through a proxy where
// the environment names one. trust gives the authorities that servers are
// believed by; nil: the system's.
func Bound(t *credential.Transport, named []string, trust func() (*credential.Trust, error)) *http.Client {
	b := &bound{trust: trust}
	for _, raw := range named {
		if u, err := url.Parse(raw); err == nil && u.Hostname() != "" {
			b.known.Store(strings.ToLower(u.Hostname()), true)
		}
	}
	t.DialContext, t.Proxy = b.dial, b.proxy
	if trust != nil {
		t.DialTLSContext = b.dialTLS
	}
	return &http.Client{Transport: credential.ThroughProxy(t), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// bound is the policy of Bound.
type bound struct {
	known sync.Map // hosts, in lower case
	trust func() (*credential.Trust, error)
}

func (b *bound) knows(host string) bool {
	_, ok := b.known.Load(strings.ToLower(host))
	return ok
}

func (b *bound) proxy(req *http.Request) (*url.URL, error) {
	if !b.knows(req.URL.Hostname()) {
		return nil, nil // a proxy would go where we do not
	}
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		b.known.Store(strings.ToLower(u.Hostname()), true)
	}
	return u, err
}

func (b *bound) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	if host, _, err := net.SplitHostPort(addr); err != nil || !b.knows(host) {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return credential.PublicAddress(address)
		}
	}
	return d.DialContext(ctx, network, addr)
}

func (b *bound) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	trust, err := b.trust()
	if err != nil {
		return nil, err
	}
	d := &credential.Dialer{Trust: trust}
	if host, _, err := net.SplitHostPort(addr); err != nil || !b.knows(host) {
		d.Control = func(_ context.Context, address string) error { return credential.PublicAddress(address) }
	}
	return d.DialTLS(ctx, network, addr)
}
