package oidc

import (
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/oauth2"
)

// Bounds of what an issuer may say and ask for.
const (
	maxAnswer   = 1 << 20
	maxSecret   = 64 << 10 // bytes of a token or refresh token
	maxWords    = 1 << 10  // of a complaint
	maxPatience = 30 * time.Minute
	maxInterval = 60 // seconds between two questions whether the user has logged in
	minInterval = 1
)

// bounded is a client of an issuer: it follows no redirect, for tokens and
// passwords travel with the questions, and reads no more than an answer may be. A client
// without a transport of its own asks nothing: the default one believes other authorities, and reads without bounds.
func bounded(c *http.Client) *http.Client {
	var b http.Client
	if c != nil {
		b = *c
	}
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.Transport = shortAnswers{b.Transport}
	return &b
}

// shortAnswers bounds the bodies of answers.
type shortAnswers struct{ under http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t shortAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.under == nil {
		return nil, errNoTransport
	}
	resp, err := t.under.RoundTrip(r)
	if err == nil {
		resp.Body = &shortBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

// CloseIdleConnections is for http.Client's method of this name.
func (t shortAnswers) CloseIdleConnections() {
	if c, ok := t.under.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type shortBody struct {
	io.ReadCloser
	left int
}

var (
	errLong        = errors.New("the issuer's answer is too long")
	errNoTransport = errors.New("issuers are asked by a client with a transport of its own")
)

// Read implements io.Reader.
func (b *shortBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errLong
	}
	return n, err
}

// patient puts an issuer's wishes in order: how often it is asked, and until when.
func patient(code *oauth2.DeviceAuthResponse, now time.Time) {
	if code.Interval != 0 { // which stands for what the protocol says
		code.Interval = min(max(code.Interval, minInterval), maxInterval)
	}
	if last := now.Add(maxPatience); code.Expiry.IsZero() || code.Expiry.After(last) {
		code.Expiry = last
	}
}
