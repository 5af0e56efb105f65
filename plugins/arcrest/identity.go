package arcrest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/credential"
)

// identity is whom we are for one endpoint client. To A-REX a proxy and a
// token are two users, who do not see each other's jobs.
type identity struct {
	x509  *credential.X509  // nil: tokens count
	token *credential.Token // nil with x509; says whom we are, and is used where no other is to be had
	set   *credential.Set   // has tokens for single operations, and says which hosts get them
	trust *credential.Trust
	key   string // differs for every other credential
}

// dialer connects to the endpoint as this identity.
func (w *identity) dialer() *credential.Dialer {
	if w.set == nil {
		return &credential.Dialer{Trust: w.trust, Cert: w.x509, Guarded: true}
	}
	return w.set.Dialer(w.x509)
}

// name is whom we say we are; it stays the same when the credential is renewed.
func (w *identity) name() string {
	if w.x509 != nil {
		return w.x509.Identity()
	}
	return owner(w.token)
}

func owner(t *credential.Token) string { return t.Subject() + " of " + t.Issuer() }

// bearer is the token for an operation that needs a scope, with the endpoint
// as its audience where there is one to be had; nil with a proxy. One of
// another user would not see the jobs. remark says why it is not the right one.
func (w *identity) bearer(ctx context.Context, base, scope string) (t *credential.Token, remark error) {
	if w.token == nil || w.set == nil || scope == "" {
		return w.token, nil
	}
	t, err := w.set.TokenOrAny(ctx, base, scope)
	if err == nil && owner(t) != owner(w.token) {
		err = fmt.Errorf("the token for it is one of %s", owner(t))
	}
	if err != nil {
		return w.token, err
	}
	return t, nil
}

// trusting are the credentials that are there, with which servers can be told.
func (o *Options) trusting() (*credential.Set, error) {
	set, err := o.Credentials()
	if err == nil && (set == nil || set.Trust == nil) {
		err = errNoTrust
	}
	return set, err
}

// identify returns the one of that name for an endpoint; "" takes the
// preferred one. A token is got for the endpoint only when it is wanted.
func identify(ctx context.Context, set *credential.Set, base, name string, now time.Time) (*identity, error) {
	var other *identity
	if x := set.X509; x != nil && now.Before(x.NotAfter()) {
		who := &identity{x509: x, set: set, trust: set.Trust, key: digest([]byte(credential.LeafOf(x)))}
		if name == "" || who.name() == name {
			return who, nil
		}
		other = who
	}
	t, err := set.TokenOrAny(ctx, base, scopeRead)
	if err == nil && (t.Expiry().IsZero() || now.Before(t.Expiry())) {
		who := &identity{token: t, set: set, trust: set.Trust, key: digest([]byte(t.Raw()))}
		if name == "" || who.name() == name {
			return who, nil
		}
		if other == nil {
			other = who
		}
	}
	if other == nil {
		return nil, unusable(set, err, now)
	}
	return nil, fmt.Errorf("the job belongs to %s, and you are %s now", name, other.name())
}

// unusable says why there is no credential to use, about each kind. err is
// what getting a token came to. What expired since it was found has no finding yet.
func unusable(set *credential.Set, err error, now time.Time) error {
	lack := &noCredential{}
	f := set.Finding("x509")
	if x := set.X509; x != nil && (f == nil || f.Severity != credential.Problem) && !now.Before(x.NotAfter()) {
		lack.add(fmt.Errorf("the proxy expired %s ago; make a new one: grid auth proxy", credential.Span(now.Sub(x.NotAfter()))))
	}
	for _, kind := range []string{"x509", "token"} {
		if f := set.Finding(kind); f != nil && f.Severity == credential.Problem {
			lack.add(f)
		}
	}
	if f, ok := errors.AsType[*credential.Finding](err); err != nil && !(ok && f.ID == "token.absent") {
		lack.add(err)
	}
	if lack.why == nil {
		return errNoCredential
	}
	return lack
}

// noCredential is why none can be used; its causes stay what they are.
type noCredential struct{ why []error }

func (n *noCredential) add(err error) {
	if !slices.ContainsFunc(n.why, func(e error) bool { return e.Error() == err.Error() }) {
		n.why = append(n.why, err)
	}
}

func (n *noCredential) Error() string {
	texts := make([]string, len(n.why))
	for i, err := range n.why {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (n *noCredential) Unwrap() []error { return n.why }
