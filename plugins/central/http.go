package central

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
	"strings"
	"sync/atomic"
	"time"

	"gridbroker/plugins"
)

// maxAnswer bounds an answer's body, in bytes.
const maxAnswer = 64 << 20

// do asks one question. Errors are told apart by whether the request can have
// arrived.
func (c *client) do(ctx context.Context, op, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return &plugins.Error{Kind: plugins.Invalid, Op: op, Endpoint: c.endpoint, Err: err}
		}
		body = bytes.NewReader(text)
	}
	text, err := c.raw(ctx, op, method, path, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(c.redact(text), out); err != nil {
		return &plugins.Error{Kind: plugins.Uncertain, Op: op, Endpoint: c.endpoint, Said: "the answer cannot be read", Err: err}
	}
	return nil
}

func (c *client) raw(ctx context.Context, op, method, path string, body io.Reader) ([]byte, error) {
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Invalid, Op: op, Endpoint: c.endpoint, Err: err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if t := c.set.Token; t != nil && t.For(c.base) {
		req.Header.Set("Authorization", "Bearer "+t.Raw())
	}
	resp, err := c.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err == nil && len(text) > maxAnswer {
			err = errors.New("the answer is too long")
		}
		if err == nil {
			return text, c.verdict(op, resp, text)
		}
	}
	kind := plugins.Unavailable
	if wrote.Load() && method != http.MethodGet {
		kind = plugins.Uncertain
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		kind = plugins.Unavailable
	}
	return nil, &plugins.Error{Kind: kind, Op: op, Endpoint: c.endpoint, Err: err}
}

// redact takes our token out of a document that the scheduler has said, however it is written.
func (c *client) redact(text []byte) []byte {
	if c.set.Token == nil {
		return text
	}
	if bytes.Contains(text, []byte(`\u00`)) || bytes.Contains(text, []byte(`\/`)) { // letters that need none of this
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) == nil {
			if plain, err := json.Marshal(v); err == nil {
				text = plain
			}
		}
	}
	return bytes.ReplaceAll(text, []byte(c.set.Token.Raw()), []byte("[our token]"))
}

// errGone is the cause where the scheduler has nothing of that name.
var errGone = errors.New("not there")

// verdict reads a status code.
func (c *client) verdict(op string, resp *http.Response, text []byte) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	text = c.redact(text)
	var problem struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	said := strings.TrimSpace(string(text[:min(len(text), 300)]))
	if json.Unmarshal(text, &problem) == nil && problem.Detail+problem.Title != "" {
		said = problem.Title
		if problem.Detail != "" {
			said = problem.Detail
		}
	}
	e := &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: c.endpoint, Said: fmt.Sprintf("%s (%d)", said, resp.StatusCode)}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		e.Err = errGone
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = plugins.Credential
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Kind, e.RetryIn = plugins.Unavailable, max(time.Second, plugins.RetryAfter(resp.Header, time.Second))
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Kind = plugins.Uncertain
	}
	return e
}

// patience is for how long a scheduler may say that it has too much to do, or that its
// database is away, before jobs or a cancellation are given up.
const patience = 15 * time.Second

// insist asks as do does, and once more, and again, where the scheduler answers that it did
// nothing and wants to be asked later: until then.
func (c *client) insist(ctx context.Context, until time.Time, op, method, path string, in, out any) error {
	for {
		err := c.do(ctx, op, method, path, in, out)
		e, ok := errors.AsType[*plugins.Error](err)
		if !ok || e.RetryIn == 0 || time.Now().Add(e.RetryIn).After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(e.RetryIn):
		}
	}
}

// Call asks a scheduler anything of its API: in and out are JSON documents.
func (b *Backend) Call(ctx context.Context, endpoint, op, method, path string, in, out any) error {
	c, err := b.client(endpoint)
	if err != nil {
		return err
	}
	return c.do(ctx, op, method, path, in, out)
}
