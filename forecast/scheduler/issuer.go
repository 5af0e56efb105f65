package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"gridbroker/credential"
)

// How long an issuer may take to answer, for how long it is not asked the same
// again, and how much it may say, in bytes.
const (
	issuerTime  = 10 * time.Second
	issuerPause = 10 * time.Second
	issuerSays  = 1 << 20
)

// maxToken bounds a token, in bytes: how long it takes to verify one grows faster than its signature.
const maxToken = 16 << 10

// verified is a token whose signature, times and audience are an issuer's and as they should be.
func verified(ctx context.Context, at *oidc.Provider, c *oidc.Config, token string) (*oidc.IDToken, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("a token of %d bytes is too long: no more than %d are read", len(token), maxToken)
	}
	return at.Verifier(c).Verify(ctx, token)
}

// issuerTransport is how issuers are asked; their headers are bounded.
func issuerTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	return credential.ThroughProxy(t)
}

// issuerClient asks an issuer what it says to everybody.
func issuerClient() *http.Client {
	return &http.Client{Timeout: issuerTime, Transport: &issuerAnswers{RoundTripper: issuerTransport()}}
}

// issuerAnswers bounds what is asked of an issuer and what it says. Whoever
// makes a token up chooses its key's name, and each name that is not known has
// the keys fetched anew, as the rules of OpenID Connect want it: within a pause
// the answer, or the error, is the one that was had.
type issuerAnswers struct {
	http.RoundTripper
	mu sync.Mutex
	of map[string]*issuerAnswer // by URL
}

type issuerAnswer struct {
	once sync.Mutex // held while it is asked
	at   time.Time
	resp http.Response
	body []byte
	err  error
}

// RoundTrip implements http.RoundTripper.
func (i *issuerAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	if i.of == nil {
		i.of = map[string]*issuerAnswer{}
	}
	a := i.of[r.URL.String()]
	if a == nil {
		a = &issuerAnswer{}
		i.of[r.URL.String()] = a
	}
	i.mu.Unlock()
	a.once.Lock()
	defer a.once.Unlock()
	if a.at.IsZero() || time.Since(a.at) >= issuerPause {
		a.ask(i.RoundTripper, r)
		a.at = time.Now()
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := a.resp
	resp.Header, resp.Request = resp.Header.Clone(), r
	resp.Body = io.NopCloser(bytes.NewReader(a.body))
	return &resp, nil
}

func (a *issuerAnswer) ask(t http.RoundTripper, r *http.Request) {
	a.body = nil
	resp, err := t.RoundTrip(r)
	if a.err = err; err != nil {
		return
	}
	defer resp.Body.Close()
	a.resp = *resp
	a.body, a.err = io.ReadAll(io.LimitReader(resp.Body, issuerSays))
}
