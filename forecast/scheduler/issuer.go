package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// How long an issuer may take to answer, for how long it is not asked the same
// again, how much it may say, in bytes, how much of its complaints is kept, and how
// many keys it may have; of more than 4,096 bits (jose.MaxRSAModulusBits) none is read.
const (
	issuerTime  = 10 * time.Second
	issuerPause = 10 * time.Second
	issuerSays  = 1 << 20
	issuerWords = 1 << 10
	issuerKeys  = 64
)

// maxToken bounds a token, in bytes: how long it takes to verify one grows faster than its signature.
const maxToken = 16 << 10

// verified is a token whose signature, times and audience are an issuer's and as they should be.
func verified(ctx context.Context, at *oidc.Provider, c *oidc.Config, token string) (*oidc.IDToken, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("a token of %d bytes is too long: no more than %d are read", len(token), maxToken)
	}
	id, err := at.Verifier(c).Verify(ctx, token)
	return id, briefly(err)
}

// providerOf asks an issuer what it is. What it names has to be spoken to over TLS, but for
// places on an issuer without that itself.
func providerOf(ctx context.Context, client *http.Client, name string) (*oidc.Provider, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, client), name)
	if err != nil {
		return nil, briefly(err)
	}
	var doc discovery
	if err := p.Claims(&doc); err != nil {
		return nil, err
	}
	own, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	for _, end := range []string{doc.Authorization, doc.Token, doc.Keys} {
		at, err := url.Parse(end)
		if end != "" && (err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != own.Scheme || at.Host != own.Host)) {
			return nil, fmt.Errorf("its discovery document names %.200q, which is no https URL", end)
		}
	}
	return p, nil
}

// briefly is an error with no more of an issuer's words than are of use.
func briefly(err error) error {
	if err == nil || len(err.Error()) <= issuerWords {
		return err
	}
	return errors.New(err.Error()[:issuerWords] + " ...")
}

// complaint is what a token endpoint says (RFC 6749 section 5.2), without the rest of its
// answer, which may have secrets in it, and without the client's.
func complaint(err error, secret string) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return briefly(err)
	}
	said := strings.TrimSpace(e.ErrorCode + " " + e.ErrorDescription)
	if secret != "" {
		said = strings.ReplaceAll(said, secret, "(the client's secret)")
	}
	return fmt.Errorf("no token for the code: %.200q", cmp.Or(said, e.Response.Status))
}

// errIssuerAway is an issuer that is not there, or says that it cannot answer now.
var errIssuerAway = errors.New("the issuer does not answer")

// unanswered adds to what is said of a request to a token endpoint whether it was not answered at all.
func unanswered(err, said error) error {
	e, no := errors.AsType[*oauth2.RetrieveError](err)
	if _, lost := errors.AsType[*url.Error](err); lost || no && e.Response.StatusCode >= http.StatusInternalServerError {
		return errors.Join(errIssuerAway, said)
	}
	return said
}

// issuerTransport is how issuers are asked: their certificates are of an authority of the system or of the grid,
// as users' programs believe them.
func (d *Door) issuerTransport() http.RoundTripper {
	t := credential.Wary(http.DefaultTransport.(*http.Transport).Clone())
	if trust := d.issuing(); trust != nil {
		t.DialTLSContext = (&credential.Dialer{Trust: trust}).DialTLS
		t.TLSClientConfig = trust.ClientConfig(nil, "") // through a proxy
	}
	return credential.ThroughProxy(t)
}

// issuing are the authorities of issuers' certificates now; nil: the system's.
func (d *Door) issuing() *credential.Trust {
	if d.IssuerTrust == nil {
		return nil
	}
	return d.IssuerTrust()
}

// toNobody follows no redirect: an issuer speaks for itself.
func toNobody(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// issuerClient asks an issuer what it says to everybody.
func (d *Door) issuerClient() *http.Client {
	return &http.Client{Timeout: issuerTime, Transport: &issuerAnswers{RoundTripper: d.issuerTransport()}, CheckRedirect: toNobody}
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
	if a.body, a.err = io.ReadAll(io.LimitReader(resp.Body, issuerSays)); a.err == nil {
		a.err = fewKeys(a.body)
	}
}

// fewKeys refuses so many keys of an issuer that they take long to try, where an answer is such.
func fewKeys(body []byte) error {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(body, &set) != nil {
		return nil // who wants keys says so
	}
	if len(set.Keys) > issuerKeys {
		return fmt.Errorf("the issuer has %d keys: no more than %d are tried", len(set.Keys), issuerKeys)
	}
	return nil
}
