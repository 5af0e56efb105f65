package arcrest

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"gridbroker/plugins"
)

// Limits on what is read from a server.
const (
	maxAnswer = 256 << 20 // lists and details of many jobs
	maxError  = 64 << 10
)

// client talks to one endpoint as one identity. It keeps its connections.
type client struct {
	o    Options
	base string // https://host:port/arex
	host string // host:port, for messages
	who  *identity
	http *http.Client

	turn       chan struct{} // held while one of the two below is found out
	versions   []string      // that the server speaks; nil: not asked yet
	delegation delegation
}

func newClient(o Options, base string, who *identity) *client {
	cfg := who.trust.ClientConfig(who.x509, "")
	return &client{
		o: o, base: base, host: hostOf(base), who: who, turn: make(chan struct{}, 1),
		http: &http.Client{
			Transport:     newTransport(o, cfg),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// call is one request.
type call struct {
	op      string // what is being done, for messages
	method  string
	path    string // below the base, query included
	body    []byte
	file    io.Reader // instead of body
	size    int64     // of file
	header  map[string]string
	scope   string // of the WLCG profile, that a token needs for it
	creates bool   // makes jobs: without an answer the outcome is uncertain
	also    int    // a status code that is no failure here besides 2xx
	entry   bool   // the first request: a 404 means that this is no A-REX
}

// send makes the request and returns an answer of the 2xx kind; its body must
// be closed. All errors are *plugins.Error.
func (c *client) send(ctx context.Context, ca *call) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }}
	req, err := c.request(httptrace.WithClientTrace(ctx, trace), ca)
	if err != nil {
		return nil, c.fail(plugins.Invalid, ca.op, "", err)
	}
	start := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.o.Logf("%s %s: %v (%v)", ca.method, req.URL, err, time.Since(start).Round(time.Millisecond))
		return nil, c.failed(ca, err, sent.Load())
	}
	c.o.Logf("%s %s: %s (%v)", ca.method, req.URL, resp.Status, time.Since(start).Round(time.Millisecond))
	if resp.StatusCode/100 == 2 || resp.StatusCode == ca.also {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // words as far as there are any
	return nil, c.refused(ca, resp, body)
}

func (c *client) request(ctx context.Context, ca *call) (*http.Request, error) {
	var body io.Reader
	switch {
	case ca.file != nil:
		body = ca.file
	case ca.body != nil:
		body = bytes.NewReader(ca.body)
	}
	req, err := http.NewRequestWithContext(ctx, ca.method, c.base+ca.path, body)
	if err != nil {
		return nil, err
	}
	if ca.file != nil {
		req.ContentLength = ca.size
	}
	req.Header.Set("Accept", "application/xml")
	req.Header.Set("User-Agent", "gridbroker")
	for k, v := range ca.header {
		req.Header.Set(k, v)
	}
	token, remark := c.who.bearer(ctx, c.base, ca.scope)
	if remark != nil {
		c.o.Logf("%s at %s: %v", ca.op, c.host, remark)
	}
	if token != nil {
		req.Header.Set("Authorization", "Bearer "+token.Raw())
	}
	return req, nil
}

// read makes the request and returns the whole answer; no header means that it
// was the other permitted status code.
func (c *client) read(ctx context.Context, ca *call) ([]byte, http.Header, error) {
	resp, err := c.send(ctx, ca)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == ca.also {
		return nil, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	if err != nil {
		return nil, nil, c.failed(ca, err, true)
	}
	return body, resp.Header, nil
}

// decode makes the request and decodes the XML answer into v. No text at all
// is an empty list.
func (c *client) decode(ctx context.Context, ca *call, v any) error {
	body, _, err := c.read(ctx, ca)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	if err := decodeXML(body, v); err != nil {
		return c.failed(ca, fmt.Errorf("%w: %w", errMalformed, err), true)
	}
	return nil
}

func decodeXML(body []byte, v any) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	return d.Decode(v)
}

// rest is the path of a resource in the newest version both sides speak.
func (c *client) rest(ctx context.Context, op, path string) (string, error) {
	v, err := c.version(ctx, op)
	return "/rest/" + v + path, err
}

// version negotiates, once: 1.1 where offered, else 1.0.
func (c *client) version(ctx context.Context, op string) (string, error) {
	release, err := c.await(ctx, op)
	if err != nil {
		return "", err
	}
	defer release()
	if c.versions == nil {
		vs, err := c.askVersions(ctx, op)
		if err != nil {
			return "", err
		}
		c.versions = vs
	}
	return newest(c.versions), nil
}

// await takes the client's turn, or gives up with the context.
func (c *client) await(ctx context.Context, op string) (release func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, c.failed(&call{op: op}, ctx.Err(), false)
	}
}

func (c *client) askVersions(ctx context.Context, op string) ([]string, error) {
	var answer struct {
		XMLName  xml.Name `xml:"versions"`
		Versions []string `xml:"version"`
	}
	ca := &call{op: op, method: http.MethodGet, path: "/rest", entry: true}
	if err := c.decode(ctx, ca, &answer); err != nil {
		return nil, err
	}
	if newest(answer.Versions) == "" {
		return nil, c.fail(plugins.Unavailable, op, "no REST interface of version 1.0 or 1.1 here: "+strings.Join(answer.Versions, " "), nil)
	}
	return answer.Versions, nil
}

// newest is the best version that we speak too; "" without one.
func newest(versions []string) string {
	best := ""
	for _, v := range versions {
		if (v == "1.0" || v == "1.1") && v > best {
			best = v
		}
	}
	return best
}
