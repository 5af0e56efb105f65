package central

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
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

	"gridbroker/foreign"
	"gridbroker/plugins"
)

// maxFile and maxDocument bound the body of an answer, in bytes.
const (
	maxFile     = 64 << 20
	maxDocument = 16 << 20
)

// do asks one question. Errors are told apart by whether the request can have
// arrived.
func (c *client) do(ctx context.Context, op, method, path string, in, out any) error {
	q := question{op: op, method: method, path: path}
	if in != nil {
		var err error
		if q.body, err = json.Marshal(in); err != nil {
			return &plugins.Error{Kind: plugins.Invalid, Op: op, Endpoint: c.endpoint, Err: err}
		}
	}
	text, err := c.raw(ctx, q)
	if err != nil || out == nil {
		return err
	}
	if heavy(foreign.CountValues(text, heavy)) {
		return &plugins.Error{Kind: plugins.Uncertain, Op: op, Endpoint: c.endpoint, Err: errHeavy}
	}
	if err := json.Unmarshal(c.redact(text), out); err != nil {
		return &plugins.Error{Kind: plugins.Uncertain, Op: op, Endpoint: c.endpoint, Err: senseless("the answer cannot be read")}
	}
	return nil
}

// maxWeight bounds the values of a document: each takes many times the bytes in memory that
// it has in the text.
const (
	maxWeight   = 2_400_000
	valueWeight = 16 // of one that is no text in a list
)

// heavy reports whether the values of a JSON text take too much.
func heavy(v foreign.Values) bool {
	return valueWeight*(v.Lists+v.Objects+v.Elements+v.Members-v.Texts)+v.Texts > maxWeight
}

// question is one request.
type question struct {
	op           string // what is being done, for messages
	method, path string
	body         []byte        // nil: none
	file         bool          // the answer is one, and may take longer than a document
	patience     time.Duration // with which an answer is waited for
}

// replicaTime is how long one of several replicas may take to answer what the next one can be asked as well.
const replicaTime = 5 * time.Second

// raw asks one of the replicas, and others where it does not answer and what is asked does nothing twice.
func (c *client) raw(ctx context.Context, q question) (text []byte, err error) {
	again := q.method == http.MethodGet || twice(q.op)
	first, later := c.replicas.Current(), false // whether one said that it is to be asked later: the others need not be waited for
	c.replicas.Ask(ctx, func(base string, last bool) plugins.Standing {
		q.patience = answerTime
		if again && (!last || later) && q.op != "news" { // which are waited for
			q.patience = replicaTime
		}
		text, err = c.ask(ctx, base, q)
		e, failed := errors.AsType[*plugins.Error](err)
		later = later || failed && e.RetryIn > 0
		switch {
		case !failed || !elsewhere(e):
			return plugins.Answered
		case e.Kind == plugins.Uncertain && !again:
			return plugins.Doubtful
		}
		return plugins.Undone
	})
	if now := c.replicas.Current(); now != first && err == nil {
		c.turning.to(now)
	}
	return text, err
}

// elsewhere tells whether another replica may answer what this one did not.
func elsewhere(e *plugins.Error) bool {
	_, bad := errors.AsType[senseless](e)
	return !bad && (e.Kind == plugins.Uncertain || e.Kind == plugins.Unavailable && !errors.Is(e, errBusy))
}

// ask asks one replica.
func (c *client) ask(ctx context.Context, base string, q question) ([]byte, error) {
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, q.method, base+q.path, nil)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Invalid, Op: q.op, Endpoint: c.endpoint, Err: err}
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if t := c.tokens[base]; t != nil {
		req.Header.Set("Authorization", "Bearer "+t.Raw())
	}
	began := time.Now()
	resp, text, err := c.heard(req, q)
	if err == nil {
		c.clock.compare(resp, time.Since(began))
		return text, c.verdict(q.op, resp, text)
	}
	kind := plugins.Unavailable
	if wrote.Load() && q.method != http.MethodGet {
		kind = plugins.Uncertain
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		kind = plugins.Unavailable
	}
	return nil, &plugins.Error{Kind: kind, Op: q.op, Endpoint: c.endpoint, Err: wayInTheClear(err, req.URL)}
}

// wayInTheClear names the address of a scheduler that speaks no TLS, where it may be spoken to so.
func wayInTheClear(err error, asked *url.URL) error {
	switch _, clear := errors.AsType[tls.RecordHeaderError](err); {
	case !clear:
		return err
	case hereAlone(asked.Hostname()):
		return fmt.Errorf("%w; a scheduler without TLS is %s://%s", err, PlainScheme, asked.Host)
	}
	return fmt.Errorf("%w; without TLS a scheduler is spoken to on its own machine only: it needs cert and key in its configuration", err)
}

// heard asks, and reads the answer. What is asked may take the time that it needs on a slow
// line before the answer is waited for, and so may a file.
func (c *client) heard(req *http.Request, q question) (*http.Response, []byte, error) {
	ctx, stop := context.WithCancelCause(req.Context())
	defer stop(nil)
	late := func() { stop(plugins.ErrSlow) }
	timer := time.AfterFunc(q.patience, late)
	defer timer.Stop()
	req = req.WithContext(ctx)
	if q.body != nil {
		req.ContentLength = int64(len(q.body))
		req.GetBody = func() (io.ReadCloser, error) {
			return &sending{plugins.Sent{Reader: bytes.NewReader(q.body), Pace: plugins.Pace{Grace: q.patience}}, timer, q.patience}, nil
		}
		req.Body, _ = req.GetBody()
	}
	resp, err := c.http.Do(req)
	var text []byte
	most := int64(maxDocument)
	if err == nil {
		defer resp.Body.Close()
		from := io.Reader(resp.Body)
		if q.file && timer.Stop() {
			most = maxFile
			from = &plugins.Paced{From: resp.Body, Grace: q.patience, End: late}
		} else {
			timer.Reset(q.patience)
		}
		text, err = io.ReadAll(io.LimitReader(from, most+1))
	}
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(cause, plugins.ErrSlow):
		err = cause
	case err == nil && int64(len(text)) > most:
		err = errLong
	}
	return resp, text, err
}

// sending is a body of which the server has to take a piece before the timer is over each
// time, and all in time.
type sending struct {
	plugins.Sent
	timer    *time.Timer
	patience time.Duration
}

// Read implements io.Reader.
func (t *sending) Read(p []byte) (int, error) {
	t.timer.Reset(t.patience)
	return t.Sent.Read(p)
}

// Close implements io.Closer.
func (t *sending) Close() error { return nil }

// redact takes our tokens out of a document that the scheduler has said, however it is written.
func (c *client) redact(text []byte) []byte {
	if len(c.tokens) == 0 {
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
	for _, t := range c.tokens {
		text = bytes.ReplaceAll(text, []byte(t.Raw()), []byte("[our token]"))
	}
	return text
}

// senseless is an answer that has come and is of no use: the next one would be no better.
type senseless string

// What is larger than a document may be.
const (
	errLong  = senseless("the answer is too long")
	errHeavy = senseless("the answer has too many values")
)

// Error implements error.
func (s senseless) Error() string { return string(s) }

// errBusy is the cause where the scheduler says that we ask too often.
var errBusy = errors.New("too many requests")

// errGone is the cause where the scheduler has nothing of that name.
var errGone = errors.New("not there")

// errUnknown is the cause where the scheduler does not know a request.
var errUnknown = errors.New("not known")

// verdict reads a status code.
func (c *client) verdict(op string, resp *http.Response, text []byte) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	text = c.redact(text)
	said := complaint(text)
	e := &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: c.endpoint, Said: fmt.Sprintf("%s (%d)", said, resp.StatusCode)}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		e.Err = errGone
	case http.StatusMethodNotAllowed: // it is of a version that does not know the request
		e.Err = errUnknown
	case http.StatusUnauthorized:
		e.Kind = plugins.Credential
		c.clock.blame(e)
		if c.unshown() && e.Err == nil {
			e.Said, e.Err = notShown+c.lack.Error(), c.lack
		}
	case http.StatusForbidden:
		e.Kind, e.Err = plugins.Credential, plugins.ErrNoRight
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if resp.StatusCode == http.StatusTooManyRequests {
			e.Err = errBusy
		}
		e.Kind, e.RetryIn = plugins.Unavailable, max(time.Second, plugins.RetryAfter(resp.Header, time.Second))
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Kind = plugins.Uncertain
	case http.StatusUnprocessableEntity:
		if op == "delegate" {
			c.clock.blame(e)
		}
	}
	return e
}

// complaint is what a scheduler says of a request that it does not take (RFC 9457), with the first of what is wrong in it.
func complaint(text []byte) string {
	var problem struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Errors []struct {
			Message  string `json:"message"`
			Location string `json:"location"`
		} `json:"errors"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Detail+problem.Title == "" {
		return strings.TrimSpace(string(text[:min(len(text), 300)]))
	}
	said := cmp.Or(problem.Detail, problem.Title)
	if len(problem.Errors) > 0 {
		said += fmt.Sprintf(": %.300s", strings.TrimSpace(problem.Errors[0].Location+" "+problem.Errors[0].Message))
	}
	return said
}

// patience is for how long a scheduler may say that it has too much to do, or that its
// database is away, before jobs or a cancellation are given up.
const patience = 15 * time.Second

// insist asks as do does, and once more, and again, where the scheduler answers that it did
// nothing and wants to be asked later: until then. What does nothing twice, as it says, is
// asked again as well where it is not known whether it was done, as no answer came; what was
// in doubt once stays so until it is answered.
func (c *client) insist(ctx context.Context, until time.Time, op, method, path string, in, out any) error {
	var doubt error
	for {
		err := c.do(ctx, op, method, path, in, out)
		if err == nil {
			return nil
		}
		if _, bad := errors.AsType[senseless](err); bad {
			return cmp.Or(doubt, err)
		}
		pause := time.Duration(0)
		if e, ok := errors.AsType[*plugins.Error](err); ok {
			pause = e.RetryIn
			if e.Kind == plugins.Uncertain && twice(op) {
				doubt = err
			}
			if doubt != nil && (e.Kind == plugins.Uncertain || e.Kind == plugins.Unavailable) {
				pause = max(pause, time.Second)
			}
		}
		if pause == 0 || time.Now().Add(pause).After(until) || !waited(ctx, pause) {
			return cmp.Or(doubt, err)
		}
	}
}

// twice tells what may be asked for twice: jobs are known by their keys, who has
// ended does not end again, and a question changes nothing.
func twice(op string) bool {
	return op == "submit" || op == "cancel" || op == "hold" || op == "release" || op == "status" || op == "find" || op == "renew"
}

// waited tells whether a time has gone by in which nobody has given up.
func waited(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Call asks a scheduler anything of its API: in and out are JSON documents.
func (b *Backend) Call(ctx context.Context, endpoint, op, method, path string, in, out any) error {
	c, err := b.client(ctx, endpoint)
	if err != nil {
		return err
	}
	return c.do(ctx, op, method, path, in, out)
}
