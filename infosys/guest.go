package infosys

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"gridbroker/credential"
	"gridbroker/glue"
)

// What the endpoints that a registry names may cost, in bytes: one of them,
// those of a branch, and all together. Who may put one into a registry may put in thousands.
const (
	guestMemory  = 8 << 20
	branchMemory = 16 << 20
	guestsMemory = 32 << 20
	guestBuffer  = 8 << 10
	// documentCost is how often a document's text is in memory while it is read.
	documentCost = 3
)

// guest is what holds a source that others named: where it may be, and what it
// may cost. The zero value is the user's own source.
type guest struct {
	only    func(address string) error // asked before a connection is made; nil: all are well
	account *glue.Account
}

// control is only as a credential.Dialer wants it.
func (g guest) control() func(context.Context, string) error {
	if g.only == nil {
		return nil
	}
	return func(_ context.Context, address string) error { return g.only(address) }
}

func (g guest) dialer() *net.Dialer {
	d := &net.Dialer{}
	if g.only != nil {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error { return g.only(address) }
	}
	return d
}

// paid is a reader whose text an account pays for.
type paid struct {
	r       io.Reader
	account *glue.Account
}

// Read implements io.Reader.
func (p *paid) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	cost := documentCost * int64(n)
	if over := cmp.Or(p.account.Take(cost), p.account.Hear(cost)); over != nil {
		return 0, over
	}
	return n, err
}

// hosts makes a test of the hosts of URLs.
func hosts(urls []string) func(host string) bool {
	known := map[string]bool{}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil && u.Hostname() != "" {
			known[strings.ToLower(u.Hostname())] = true
		}
	}
	return func(host string) bool { return known[strings.ToLower(host)] }
}

// openGuest opens a source that a registry names.
func (o *Opener) openGuest(rawURL string, account *glue.Account) (Source, error) {
	src, err := o.Open(rawURL)
	if err != nil {
		return nil, err
	}
	g := guest{account: account}
	if u, err := url.Parse(rawURL); err != nil || !hosts(o.env.Named)(u.Hostname()) {
		g.only = credential.PublicAddress
	}
	switch s := src.(type) {
	case *LDAP:
		s.guest = g
	case *ARC:
		s.guest = g
	}
	return src, nil
}
