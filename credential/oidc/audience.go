package oidc

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// target are the parameters of a request that say whom a token is to be for.
type target url.Values

// audienceParams are those for an audience ("": none): "audience", as issuers of
// the WLCG profile (1.3) take it, and for one that is a URI "resource", which
// others go by (RFC 8707). A parameter that an issuer does not know it passes
// over (RFC 6749, section 3.1).
func audienceParams(audience string) target {
	t := target{}
	if audience == "" {
		return t
	}
	t["audience"] = []string{audience}
	if u, err := url.Parse(audience); err == nil && u.IsAbs() && u.Host != "" && u.Fragment == "" {
		t["resource"] = []string{audience}
	}
	return t
}

// plain are the parameters without what an issuer may refuse.
func (t target) plain() target {
	p := maps.Clone(t)
	delete(p, "resource")
	return p
}

// refused tells whether an issuer may have refused a request for its resource:
// it knows that one not, or takes no such parameter.
func (t target) refused(err error) bool {
	return t["resource"] != nil && slices.Contains([]string{"invalid_target", "invalid_request"}, code(err))
}

// options are the parameters for a request of the device flow.
func (t target) options() []oauth2.AuthCodeOption {
	var all []oauth2.AuthCodeOption
	for k, v := range t {
		all = append(all, oauth2.SetAuthURLParam(k, v[0]))
	}
	return all
}

// CheckAudience tells where a token is not for the audience that its issuer was
// asked for ("": any does): an issuer need not give what it is asked for. The error
// is a *credential.Finding.
func CheckAudience(t *credential.Token, issuer, audience string) error {
	if audience == "" || t.For(audience) {
		return nil
	}
	f := finding("login.audience", issuer, "the issuer gave a token for another audience than "+audience, "ask who runs the issuer to let this client have tokens for it", nil)
	f.Why = "it is for " + strings.Join(t.Audience(), ", ")
	return f
}
