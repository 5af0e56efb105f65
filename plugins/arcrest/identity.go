package arcrest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gridbroker/credential"
)

// identity is whom we are for one endpoint client. To A-REX a proxy and a
// token are two users, who do not see each other's jobs.
type identity struct {
	x509  *credential.X509  // nil: the token counts
	token *credential.Token // nil without, or with x509
	trust *credential.Trust
	key   string // differs for every other credential
}

// name is whom we say we are; it stays the same when the credential is renewed.
func (w *identity) name() string {
	if w.x509 != nil {
		return w.x509.Identity()
	}
	return w.token.Subject() + " of " + w.token.Issuer()
}

// identityAge is how long the answer of Options.Credentials is good for.
const identityAge = 30 * time.Second

// identity returns the one of that name, or the preferred one. It is called
// with the lock held.
func (b *Backend) identity(name string) (*identity, error) {
	now := b.o.Now()
	if age := now.Sub(b.asked); b.who == nil || age < 0 || age >= identityAge {
		set, err := b.o.Credentials()
		if err != nil {
			return nil, err
		}
		if b.who, err = usable(set, now); err != nil {
			return nil, err
		}
		b.asked = now
	}
	for _, who := range b.who {
		if name == "" || who.name() == name {
			return who, nil
		}
	}
	return nil, fmt.Errorf("the job belongs to %s, and you are %s now", name, b.who[0].name())
}

// usable lists the X.509 credential and the token, those that have not expired.
func usable(set *credential.Set, now time.Time) (all []*identity, err error) {
	if set == nil || set.Trust == nil {
		return nil, errNoTrust
	}
	if x := set.X509; x != nil && now.Before(x.NotAfter()) {
		all = append(all, &identity{x509: x, trust: set.Trust, key: digest(x.Chain()[0].Raw)})
	}
	if t := set.Token; t != nil && (t.Expiry().IsZero() || now.Before(t.Expiry())) {
		all = append(all, &identity{token: t, trust: set.Trust, key: digest([]byte(t.Raw()))})
	}
	if all == nil {
		return nil, unusable(set)
	}
	return all, nil
}

// unusable says why there is no credential to use, about each kind.
func unusable(set *credential.Set) error {
	var why []string
	for _, kind := range []string{"x509", "token"} {
		if f := set.Finding(kind); f != nil && f.Severity == credential.Problem {
			why = append(why, f.Error())
		}
	}
	if why == nil {
		return errNoCredential
	}
	return errors.New(strings.Join(why, "; "))
}
