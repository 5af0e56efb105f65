package central

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
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
	if c, ok := b.clients.Recent(endpoint); ok {
		return c, nil
	}
	set, err := b.clients.Set()
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: endpoint, Err: err}
	}
	c := &client{endpoint: endpoint, set: set}
	c.tokens, c.lack = shown(ctx, set, bases)
	return b.clients.For(endpoint, shows(c, bases), func(had **client) (*client, error) { return c, b.connect(c, bases, had) })
}

// shows is what tells a client from one with other credentials, or other things to say of those that are lacking.
func shows(c *client, bases []string) string {
	list := []string{credential.LeafOf(c.set.X509)}
	for _, base := range bases {
		raw := ""
		if t := c.tokens[base]; t != nil {
			raw = t.Raw()
		}
		list = append(list, raw)
	}
	if c.lack != nil {
		list = append(list, c.lack.Error())
	}
	return strings.Join(list, "\x00")
}

// connect makes what has credentials able to speak, in the place of the one that was there.
func (b *Backend) connect(c *client, bases []string, had **client) error {
	c.clock.now = b.conf.Now
	c.replicas = &plugins.Replicas{Bases: bases}
	if len(bases) > 1 {
		c.turning = turningOf(&b.conf, c.endpoint)
	}
	if had != nil {
		c.replicas = (*had).replicas
	} else {
		c.turning.begin(c.replicas)
	}
	t := credential.Wary(&http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext})
	if !c.plain() {
		if c.set.Trust == nil {
			return &plugins.Error{Kind: plugins.Credential, Op: "use", Endpoint: c.endpoint, Said: "no certificate authorities to trust", Hint: "set X509_CERT_DIR"}
		}
		t.DialTLSContext = c.set.Dialer(c.set.X509).DialTLS
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return nil
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
