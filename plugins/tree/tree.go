// Package tree hands jobs to the desk of a tree of managers
// (forecast/managers/desk), which runs none of them: it finds each a place at
// some site, where its user starts it. To the rest of the program it is a
// back-end in whose queue jobs wait until they can be claimed.
package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"gridbroker/credential"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Interface is that of a desk's endpoint, Scheme that of its URL.
const (
	Interface = "org.gridbroker.tree"
	Scheme    = "tree"
)

// backend is the plugins.Submitter for desks.
type backend struct {
	conf    plugins.Config
	clients credential.Clients[*client]
}

var (
	_ plugins.Submitter    = (*backend)(nil)
	_ plugins.Assigner     = (*backend)(nil)
	_ plugins.Herald       = (*backend)(nil)
	_ plugins.Finder       = (*backend)(nil)
	_ plugins.Pinger       = (*backend)(nil)
	_ plugins.Explainer    = (*backend)(nil)
	_ plugins.SourceOpener = (*backend)(nil)
)

// Open opens the back-end.
func Open(c plugins.Config) (plugins.Submitter, error) {
	return &backend{c, credential.Clients[*client]{Find: c.Credentials, Now: c.Now, Drop: (*client).drop}}, nil
}

// parseURL reads tree://host:port, and returns it and where the desk answers.
func parseURL(raw string) (endpoint, base string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != Scheme || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", "", fmt.Errorf("%.200s: a tree of managers is tree://host:port", plugins.Redacted(raw))
	}
	return Scheme + "://" + u.Host, "https://" + u.Host, nil
}

// client speaks to one desk as one user.
type client struct {
	endpoint, base string
	http           *http.Client
	x              *credential.X509
}

func (c *client) drop() { c.http.CloseIdleConnections() }

// owner is whom the desk takes us for, whichever proxy we show.
func (c *client) owner() string { return c.x.Identity() }

// How long a desk may take to be reached, and to answer.
const (
	dialTime   = 10 * time.Second
	answerTime = 30 * time.Second
)

func (b *backend) client(raw string) (*client, error) {
	endpoint, base, err := parseURL(raw)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Invalid, Op: "use", Endpoint: plugins.Redacted(raw), Err: err}
	}
	set, err := b.clients.Set()
	switch {
	case err != nil:
	case set.X509 == nil:
		err = &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Said: "a tree of managers knows its users by certificate, and you have none to show", Hint: "grid auth proxy"}
	case set.Trust == nil:
		err = &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Said: "no certificate authorities to trust", Hint: "set X509_CERT_DIR"}
	}
	if err != nil {
		if _, ok := errors.AsType[*plugins.Error](err); !ok {
			err = &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Err: err}
		}
		return nil, err
	}
	return b.clients.For(endpoint, credential.LeafOf(set.X509), func(**client) (*client, error) { return connect(endpoint, base, set), nil })
}

// connect makes a client of what is there to be shown.
func connect(endpoint, base string, set *credential.Set) *client {
	t := credential.Wary(&http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext})
	t.DialTLSContext = set.Dialer(set.X509).DialTLS
	return &client{endpoint: endpoint, base: base, x: set.X509,
		http: &http.Client{Transport: t, Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close ends the connections.
func (b *backend) Close() error { return b.clients.Close() }

// Source implements plugins.SourceOpener: a tree is one resource that takes every job, of those whom it can know.
func (b *backend) Source(u *url.URL) (plugins.Source, error) {
	endpoint, _, err := parseURL(u.String())
	return door{plugins.Service{Endpoint: endpoint, Interface: Interface, Now: b.conf.Now}, b}, err
}

// door is a desk's source: who has nothing to show learns it before anything is recorded.
type door struct {
	plugins.Service
	b *backend
}

// Resources implements plugins.Source.
func (s door) Resources(ctx context.Context) ([]glue.Resource, error) {
	if _, err := s.b.client(s.Endpoint); err != nil {
		return nil, err
	}
	return s.Service.Resources(ctx)
}

// maxDocument bounds an answer, in bytes.
const maxDocument = 4 << 20

// manyValues tells that an answer has many more values than one about atOnce jobs, each of which takes many times its bytes in memory.
func manyValues(v foreign.Values) bool { return v.Lists+v.Objects+v.Elements+v.Members > 40*atOnce }

// do asks one question: a GET where there is nothing to say. Whoever asks by changes tells apart whether the request can
// have arrived.
func (c *client) do(ctx context.Context, op, path string, in, out any, changes bool) error {
	fail := func(kind plugins.Kind, err error) error {
		return &plugins.Error{Kind: kind, Op: op, Endpoint: c.endpoint, Err: err}
	}
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fail(plugins.Invalid, err)
		}
		method, body = http.MethodPost, bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fail(plugins.Invalid, err)
	}
	req.Header.Set("Content-Type", "application/json")
	doubtful := plugins.Unavailable
	resp, err := c.http.Do(req)
	if changes && wrote.Load() {
		doubtful = plugins.Uncertain
	}
	if err != nil {
		return fail(doubtful, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return c.refused(op, resp, text, doubtful)
	case err == nil && len(text) > maxDocument:
		err = errors.New("the answer is too long")
	case err == nil && manyValues(foreign.CountValues(text, manyValues)):
		err = errors.New("the answer tells of more jobs than were asked about")
	case err == nil:
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return fail(doubtful, err)
	}
	return nil
}

// refused reads an answer that is none. A fault of the server, or of one before it, leaves open what was done.
func (c *client) refused(op string, resp *http.Response, text []byte, doubtful plugins.Kind) error {
	said := fmt.Sprintf("%s (%d)", strings.TrimSpace(string(text[:min(len(text), 300)])), resp.StatusCode)
	e := &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: c.endpoint, Said: said}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = plugins.Credential
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Kind, e.RetryIn = plugins.Unavailable, plugins.RetryAfter(resp.Header, time.Second)
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Kind = doubtful
	}
	return e
}
