package arcrest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"

	"gridbroker/asked"
	"gridbroker/plugins"
)

// Limits on what is read from a server.
const (
	maxAnswer = 16 << 20 // one document that is read whole
	maxError  = 64 << 10
)

// client talks to one endpoint as one identity. It keeps its connections.
type client struct {
	o    Options
	base string // https://host:port/arex
	host string // host:port, for messages
	who  *identity
	http *http.Client

	versions   atomic.Pointer[[]string] // that the server speaks; nil: not asked yet
	served     atomic.Bool              // it has answered in the assumed version
	turn       chan struct{}            // held while versions or delegation are found out
	delegation delegation
	listing    atomic.Pointer[listLength]
	details    details
	shown      sync.Map // tokens that were sent there, as text
}

func newClient(o Options, base string, who *identity) *client {
	return &client{
		o: o, base: base, host: hostOf(base), who: who, turn: make(chan struct{}, 1),
		http: &http.Client{
			Transport:     newTransport(o, who),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c *client) drop() { c.http.CloseIdleConnections() }

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
	most    int64  // bytes of a document that is read whole; 0: maxAnswer
}

// send makes the request and returns an answer of the 2xx kind; its body must
// be closed. All errors are *plugins.Error.
func (c *client) send(ctx context.Context, ca *call) (*http.Response, error) {
	resp, err := once(ctx, c, ca)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode/100 == 3 {
		words(resp)
		path, err := elsewhere(ctx, c, ca)
		if err == nil && path != "" {
			ca.path = path
			resp, err = once(ctx, c, ca)
		}
		if err != nil {
			return nil, err
		}
	}
	if resp.StatusCode/100 == 2 && strings.HasPrefix(ca.path, "/rest/"+assumed+"/") {
		c.served.Store(true)
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == ca.also {
		return resp, nil
	}
	return nil, c.refused(ca, resp, words(resp))
}

// words takes what an answer that is no good says, as far as it says anything. Its connection is free then: as many
// requests as there may be connections would each wait for one more.
func words(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// once makes one request; its answer may be of any kind.
func once(ctx context.Context, c *client, ca *call) (*http.Response, error) {
	ctx, stop := context.WithCancelCause(ctx)
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }}
	req, err := request(httptrace.WithClientTrace(ctx, trace), c, ca)
	if err != nil {
		stop(nil)
		return nil, c.fail(plugins.Invalid, ca.op, "", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		stop(nil)
		return nil, c.failed(ca, err, sent.Load())
	}
	resp.Body = &answer{plugins.Paced{From: resp.Body, Grace: c.o.Timeout, End: func() { stop(plugins.ErrSlow) }}, resp.Body, stop}
	return resp, nil
}

// answer is the body of an answer, which ends when it comes too slowly.
type answer struct {
	plugins.Paced
	body io.Closer
	stop context.CancelCauseFunc
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.stop(nil)
	return a.body.Close()
}

func request(ctx context.Context, c *client, ca *call) (*http.Request, error) {
	var body io.Reader
	switch {
	case ca.file != nil:
		body = &plugins.Sent{Reader: ca.file, Pace: plugins.Pace{Grace: c.o.Timeout}}
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
		asked.Tell(ctx, "%s at %s: %v", ca.op, c.host, remark)
	}
	if token != nil {
		c.shown.Store(token.Raw(), true)
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
	most := cmp.Or(ca.most, maxAnswer)
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(body)) > most {
		err = errTooLong
	}
	if err != nil {
		return nil, nil, c.failed(ca, err, true)
	}
	return body, resp.Header, nil
}

// assumed is the version in which the jobs of a server that was not asked for
// its versions are asked about: all that are known serve it, and it differs
// from 1.1 in submission and delegation alone.
const assumed = "1.0"

// rest is the path of a resource in the newest version both sides speak.
func rest(ctx context.Context, c *client, op, path string) (string, error) {
	v, err := c.version(ctx, op)
	return "/rest/" + v + path, err
}

// jobs is the path of something of jobs that are there, or of their list. It
// costs no request: where the versions are not known it is in the assumed one,
// and send mends that where the server has no such.
func (c *client) jobs(path string) string {
	if vs := c.versions.Load(); vs != nil {
		return "/rest/" + newest(*vs) + "/jobs" + path
	}
	return "/rest/" + assumed + "/jobs" + path
}

// elsewhere is the path of a call that was answered with "not here", in the
// version that the server speaks instead of the assumed one; "" where that is
// the one.
func elsewhere(ctx context.Context, c *client, ca *call) (string, error) {
	path, ok := strings.CutPrefix(ca.path, "/rest/"+assumed+"/")
	if !ok || ca.file != nil || c.served.Load() || c.versions.Load() != nil {
		return "", nil
	}
	v, err := c.version(ctx, ca.op)
	if err != nil || v == assumed {
		return "", err
	}
	return "/rest/" + v + "/" + path, nil
}

// version negotiates, once: 1.1 where offered, else 1.0.
func (c *client) version(ctx context.Context, op string) (string, error) {
	if vs := c.versions.Load(); vs != nil {
		return newest(*vs), nil
	}
	release, err := c.await(ctx, op)
	if err != nil {
		return "", err
	}
	defer release()
	if vs := c.versions.Load(); vs != nil {
		return newest(*vs), nil
	}
	vs, err := askVersions(ctx, c, op)
	if err != nil {
		return "", err
	}
	c.versions.Store(&vs)
	return newest(vs), nil
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

func askVersions(ctx context.Context, c *client, op string) ([]string, error) {
	var versions []string
	ca := &call{op: op, method: http.MethodGet, path: "/rest", entry: true}
	err := c.each(ctx, ca, budget{root: "versions", items: maxVersions}, func(e *element) error {
		var v string
		err := e.decode(&v)
		if e.name == "version" {
			versions = append(versions, v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if newest(versions) == "" {
		return nil, c.fail(plugins.Unavailable, op, "no REST interface of version 1.0 or 1.1 here: "+strings.Join(versions, " "), nil)
	}
	return versions, nil
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
