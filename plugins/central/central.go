// Package central hands jobs to a central scheduler, which finds them their
// slots (forecast/scheduler). To the rest of the program it is a back-end as any
// other: the same ids, states and exit codes.
package central

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// Interface is that of a scheduler's endpoint.
const Interface = "org.gridbroker.scheduler"

// The schemes of a scheduler's URL: over TLS, and without it to this machine
// only.
const (
	Scheme      = "grid"
	PlainScheme = "grid+http"
)

// Backend is the plugins.Submitter for central schedulers.
type Backend struct {
	conf    plugins.Config
	clients credential.Clients[*client]
}

var (
	_ plugins.Submitter    = (*Backend)(nil)
	_ plugins.Finder       = (*Backend)(nil)
	_ plugins.Fetcher      = (*Backend)(nil)
	_ plugins.Cleaner      = (*Backend)(nil)
	_ plugins.Logger       = (*Backend)(nil)
	_ plugins.Peeker       = (*Backend)(nil)
	_ plugins.Pinger       = (*Backend)(nil)
	_ plugins.Renewer      = (*Backend)(nil)
	_ plugins.Explainer    = (*Backend)(nil)
	_ plugins.Herald       = (*Backend)(nil)
	_ plugins.SourceOpener = (*Backend)(nil)
)

// Open opens the back-end.
func Open(c plugins.Config) (plugins.Submitter, error) {
	return &Backend{c, credential.Clients[*client]{Find: c.Credentials, Now: c.Now, Drop: drop}}, nil
}

// or is the parameter of a scheduler's URL that names another of its replicas:
// grid://host:port?or=host:port&or=host:port.
const or = "or"

// maxReplicas bounds those that a URL names.
const maxReplicas = 16

// parseURL reads grid://host:port, https://host:port, or, for this machine,
// grid+http://127.0.0.1:port, and returns the endpoint in the first form or the
// last, and the addresses of the API: one, and those of the other replicas that
// it names.
func parseURL(raw string) (endpoint string, bases []string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", nil, err
	}
	raw = plugins.Redacted(raw)
	others := u.Query()[or]
	if u.Host == "" || u.User != nil || len(u.Query()) > 1 || u.RawQuery != "" && len(others) == 0 || u.Fragment != "" || strings.Trim(u.Path, "/") != "" || len(others) >= maxReplicas {
		return "", nil, fmt.Errorf("%s: a scheduler is grid://host:port", raw)
	}
	scheme, over := Scheme, "https"
	switch u.Scheme {
	case Scheme, "https", "grid+https":
	case PlainScheme, "http":
		scheme, over = PlainScheme, "http"
	default:
		return "", nil, fmt.Errorf("%s: a scheduler is grid://host:port", raw)
	}
	endpoint = scheme + "://" + u.Host
	for i, host := range append([]string{u.Host}, others...) {
		at, err := url.Parse(over + "://" + host)
		if err != nil || at.Host != host || host == "" {
			return "", nil, fmt.Errorf("%s: another replica of the scheduler is named as host:port, and spoken to in the same way", raw)
		}
		if over == "http" && !hereAlone(at.Hostname()) {
			return "", nil, fmt.Errorf("%s: without TLS a scheduler is spoken to on this machine only; use grid://", raw)
		}
		if bases = append(bases, at.String()); i > 0 {
			endpoint += map[bool]string{true: "?", false: "&"}[i == 1] + or + "=" + host
		}
	}
	return endpoint, bases, nil
}

// hereAlone tells whether a host is this machine by a name that means no other.
func hereAlone(host string) bool { return host == "127.0.0.1" || host == "::1" || host == "localhost" }

// client speaks to one scheduler.
type client struct {
	endpoint string
	replicas *plugins.Replicas // where the API is
	http     *http.Client
	set      *credential.Set
	tokens   map[string]*credential.Token // what each replica is shown, by its address; none: nothing
	lack     error                        // why there is no token for them that they could be shown; nil: there is, or nobody has set one up
	turning  turning
	clock    timepiece
}

// plain tells that nobody has shown who is at the other end, only that it is on
// this machine.
func (c *client) plain() bool { return strings.HasPrefix(c.replicas.Bases[0], "http:") }

// byToken is the token that some replica is shown; nil: none.
func (c *client) byToken() *credential.Token {
	for _, base := range c.replicas.Bases {
		if t := c.tokens[base]; t != nil {
			return t
		}
	}
	return nil
}

// owner is whom the scheduler takes us for, as whom it shows us our jobs; it stays
// the same when the credential is renewed.
func (c *client) owner() string {
	if t := c.byToken(); t != nil {
		if t.Subject() == "" {
			return ""
		}
		return t.Subject() + " of " + t.Issuer()
	}
	if c.set.X509 != nil && !c.plain() {
		return c.set.X509.Identity()
	}
	return ""
}

// notOurs is the error about a job that another credential of ours was submitted
// with: to the scheduler it is another's, and not there.
func (c *client) notOurs(op string, h plugins.Handle) error {
	if own := c.owner(); h.Owner != "" && own != h.Owner {
		return &plugins.Error{Kind: plugins.Credential, Op: op, Endpoint: c.endpoint, Said: fmt.Sprintf("the job belongs to %s, and you are %s now", h.Owner, cmp.Or(own, "nobody"))}
	}
	return nil
}

// answerTime is how long a scheduler may take to answer, and to send a document.
const answerTime = time.Minute

// dialTime is how long a connection to it may take, as where it is made over TLS.
const dialTime = 10 * time.Second

// Close ends the connections.
func (b *Backend) Close() error { return b.clients.Close() }

func drop(c *client) { c.http.CloseIdleConnections() }

// Source implements plugins.SourceOpener: a scheduler is one resource that
// takes every job.
func (b *Backend) Source(u *url.URL) (plugins.Source, error) {
	endpoint, _, err := parseURL(u.String())
	return plugins.Service{Endpoint: endpoint, Interface: Interface, Now: b.conf.Now}, err
}
