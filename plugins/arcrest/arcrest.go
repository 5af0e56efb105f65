// Package arcrest runs jobs at NorduGrid ARC computing elements through the
// REST interface of A-REX, versions 1.0 (ARC 6) and 1.1 (ARC 7). Everything
// that can be done for many jobs in one request is: one submission, one
// status query, one cancellation per endpoint.
package arcrest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Options are all that the back-end takes from outside.
type Options struct {
	// Credentials is asked anew when its last answer is half a minute old, so
	// that a renewed proxy or token is picked up. A usable X.509 credential is preferred
	// to a token: that is what A-REX does when it gets both.
	Credentials func() (*credential.Set, error)
	// StateDir keeps the ids of delegations for later commands; "" keeps
	// them for the life of the Backend only.
	StateDir string
	// Connections is the most that are open to one endpoint; 0 means 6.
	Connections int
	// Timeout limits the wait for an answer and for a stalled transfer to go
	// on; 0 means 60 s.
	Timeout time.Duration
	// DelegationLife is how long delegated credentials live at most, asked
	// whenever one is made; nil or 0 means 7 days. They never outlive our own.
	DelegationLife func() time.Duration
	Now            func() time.Time // nil: time.Now
}

// Backend is the back-end for org.nordugrid.arcrest.
type Backend struct {
	o       Options
	clients credential.Clients[*client] // by base URL and whom we are
}

var (
	_ plugins.Submitter = (*Backend)(nil)
	_ plugins.Finder    = (*Backend)(nil)
	_ plugins.Completer = (*Backend)(nil)
	_ plugins.Fetcher   = (*Backend)(nil)
	_ plugins.Cleaner   = (*Backend)(nil)
	_ plugins.Logger    = (*Backend)(nil)
	_ plugins.Peeker    = (*Backend)(nil)
	_ plugins.Restarter = (*Backend)(nil)
	_ plugins.Renewer   = (*Backend)(nil)
	_ plugins.Pinger    = (*Backend)(nil)
)

// New returns the back-end. It does not touch the network.
func New(o Options) *Backend {
	if o.Connections <= 0 {
		o.Connections = 6
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Backend{o, credential.Clients[*client]{Find: o.trusting, Now: o.Now, Drop: (*client).drop}}
}

// Close drops idle connections.
func (b *Backend) Close() error { return b.clients.Close() }

// client returns the one for an endpoint with the present credential of the
// owner of a job; owner "" takes the preferred one. op is for the message of a
// failure.
func (b *Backend) client(ctx context.Context, op, endpoint, owner string) (*client, error) {
	base, err := baseOf(endpoint)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: op, Endpoint: endpoint, Err: err}
	}
	set, err := b.clients.Set()
	var who *identity
	if err == nil {
		who, err = identify(ctx, set, base, owner, b.o.Now())
	}
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Credential, Op: op, Endpoint: hostOf(base), Err: err}
	}
	return b.clients.For(base+" "+who.name(), who.key, func(**client) (*client, error) { return newClient(b.o, base, who), nil })
}

// Ready implements plugins.Readier.
func (b *Backend) Ready(ctx context.Context, endpoint glue.Endpoint) error {
	_, err := b.client(ctx, "submit", endpoint.URL, "")
	return err
}

// baseOf is the URL that the REST paths follow, whatever form of it was
// published or kept with a job: "https://host:port/arex".
func baseOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", &url.Error{Op: "use", URL: u.Redacted(), Err: errNotHTTPS}
	}
	path, _, _ := strings.Cut(u.Path+"/", "/rest/")
	return "https://" + strings.ToLower(u.Host) + strings.TrimRight(path, "/"), nil
}

func hostOf(base string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(base, "https://"), "/")
	return host
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// handle names a job of the endpoint.
func (c *client) handle(id string) plugins.Handle {
	return plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: c.base, ID: id, Owner: c.who.name()}
}
