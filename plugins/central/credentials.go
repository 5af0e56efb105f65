package central

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// client is the one that speaks to a scheduler with the credentials that are there now.
func (b *Backend) client(ctx context.Context, raw string) (*client, error) {
	endpoint, bases, err := parseURL(raw)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Invalid, Op: "use", Endpoint: plugins.Redacted(raw), Err: err}
	}
	had, fresh := b.had(endpoint)
	if fresh {
		return had, nil
	}
	set, err := b.conf.Credentials()
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Err: err}
	}
	if had != nil && same(had.set, set) {
		set = had.set // with the tokens that it has got
	}
	tokens, lack := shown(ctx, set, bases)
	b.mu.Lock()
	defer b.mu.Unlock()
	if had = b.clients[endpoint]; had != nil && same(had.set, set) && maps.EqualFunc(had.tokens, tokens, sameToken) {
		had.asked, had.lack = b.conf.Now(), lack
		return had, nil
	}
	return b.connect(endpoint, bases, &client{set: set, tokens: tokens, lack: lack})
}

// had is the client that there is for an endpoint, nil: none, and whether what it shows was looked at just now.
func (b *Backend) had(endpoint string) (c *client, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, now := b.clients[endpoint], b.conf.Now()
	return c, c != nil && !now.Before(c.asked) && now.Sub(c.asked) < identityAge
}

// connect makes what has credentials the client of an endpoint, in the place of the one that was there. The lock is held.
func (b *Backend) connect(endpoint string, bases []string, c *client) (*client, error) {
	had := b.clients[endpoint]
	c.endpoint, c.asked, c.clock.now = endpoint, b.conf.Now(), b.conf.Now
	c.replicas = &plugins.Replicas{Bases: bases}
	if len(bases) > 1 {
		c.turning = turningOf(&b.conf, endpoint)
	}
	if had != nil {
		c.replicas = had.replicas
	} else {
		c.turning.begin(c.replicas)
	}
	t := credential.Wary(&http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext})
	if !c.plain() {
		if c.set.Trust == nil {
			return nil, &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Said: "no certificate authorities to trust", Hint: "set X509_CERT_DIR"}
		}
		t.DialTLSContext = c.set.Dialer(c.set.X509).DialTLS
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if had != nil {
		had.http.CloseIdleConnections()
	}
	b.clients[endpoint] = c
	return c, nil
}

// shown are the tokens that replicas are shown: the one at hand, where it is meant for them, or one that a login or
// oidc-agent gives for them. Who has a certificate, and no token that is for them, even if it has run out, shows that: no
// issuer is asked. lack is why there is none, where there is one that does not do or a way to get one.
func shown(ctx context.Context, set *credential.Set, bases []string) (tokens map[string]*credential.Token, lack error) {
	tokens = map[string]*credential.Token{}
	for _, base := range bases {
		t := set.AtHand(base)
		if byCertificate := set.X509 != nil && (set.Token == nil || !set.Token.For(base)); t == nil && !byCertificate {
			var err error
			if t, err = set.TokenFor(ctx, base); err != nil {
				t, lack = nil, cmp.Or(lack, err)
			}
		}
		if t != nil {
			tokens[base] = t
		}
	}
	if f, ok := errors.AsType[*credential.Finding](lack); len(tokens) > 0 || ok && f.ID == "token.absent" {
		lack = nil
	}
	return tokens, lack
}

// notShown begins what a user is told whose token was not for the scheduler to see.
const notShown = "no credential was shown: "

// unshown tells that a scheduler was shown nothing, for want of a token that is meant for it.
func (c *client) unshown() bool { return c.lack != nil && c.set.X509 == nil }

// same tells whether two sets show the same proxy and token.
func same(a, b *credential.Set) bool {
	leaf := func(s *credential.Set) []byte {
		if s.X509 == nil {
			return nil
		}
		return s.X509.Chain()[0].Raw
	}
	return bytes.Equal(leaf(a), leaf(b)) && sameToken(a.Token, b.Token) && (a.Trust == nil) == (b.Trust == nil)
}

// sameToken tells whether two tokens, of which there may be none, are one.
func sameToken(a, b *credential.Token) bool {
	return a == b || a != nil && b != nil && a.Raw() == b.Raw()
}
