// Package doctor looks credentials over step by step - files, authorities,
// VOMS servers, logins, then what an endpoint makes of them - and says what is
// wrong and how to mend it.
package doctor

import (
	"context"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/oidc"
)

// Doctor examines.
type Doctor struct {
	Env    credential.Env
	Opts   credential.Options
	Logins oidc.Store
	// Minter gets tokens for single endpoints; may be nil.
	Minter credential.Minter
	// Timeout bounds each single look at a server. 0: 10 s.
	Timeout time.Duration
}

func (d Doctor) timeout() time.Duration {
	if d.Timeout == 0 {
		return 10 * time.Second
	}
	return d.Timeout
}

func good(id, subject, what, why string) credential.Finding {
	return credential.Finding{ID: id, Severity: credential.OK, Subject: subject, What: what, Why: why}
}

// Local looks at what is on this machine, and whether the VOMS servers of the
// user's VO can be reached. It returns the credentials for Endpoint.
func (d Doctor) Local(ctx context.Context) (*credential.Set, []credential.Finding) {
	set, err := credential.Discover(d.Env, d.Opts)
	if err != nil && set == nil {
		return &credential.Set{}, []credential.Finding{*asFinding(err)}
	}
	set.Minter = d.Minter
	set.Verify(d.Env.VOMSDir(d.Opts))
	fs := d.x509(set)
	fs = append(fs, d.token(set)...)
	fs = append(fs, localClock(d.Env.Now(), set)...)
	if set.Trust != nil {
		fs = append(fs, set.Trust.Check(set.X509)...)
	}
	fs = append(fs, set.Findings...)
	fs = append(fs, d.logins()...)
	fs = append(fs, d.voms(ctx, set)...)
	return set, append(fs, d.absent(set, fs)...)
}

// absent says that there is nothing to be let in with, and what would be the
// quickest way to something.
func (d Doctor) absent(set *credential.Set, fs []credential.Finding) []credential.Finding {
	now := d.Env.Now()
	if set.X509 != nil && set.X509.Valid(now) == nil || set.Token != nil && set.Token.Valid(now) == nil {
		return nil
	}
	f := credential.Finding{ID: "credential.absent", Severity: credential.Problem, What: "there is nothing that an endpoint would let you in with", Why: "neither a valid X.509 credential nor a valid token",
		Mend: "grid auth proxy (needs a certificate), or grid auth login --issuer URL"}
	for _, have := range fs {
		switch have.ID {
		case "user.ok":
			f.Mend = "grid auth proxy"
		case "login.ok":
			f.Mend = "grid auth login"
		}
	}
	return []credential.Finding{f}
}

func asFinding(err error) *credential.Finding {
	if f, ok := err.(*credential.Finding); ok {
		return f
	}
	return &credential.Finding{ID: "internal", Severity: credential.Problem, What: err.Error()}
}

func (d Doctor) x509(set *credential.Set) []credential.Finding {
	x := set.X509
	if x == nil || x.Valid(d.Env.Now()) != nil {
		return d.userCert()
	}
	var soon []credential.Finding
	if end := x.EntityEnd(); end.Sub(d.Env.Now()) < renewal {
		soon = []credential.Finding{{ID: "user.expires-soon", Severity: credential.Warning, Subject: x.Identity(), What: "the user's certificate expires in " + credential.Span(end.Sub(d.Env.Now())),
			Mend: "ask your certificate authority for a new one now: it takes days"}}
	}
	kind := "certificate"
	if x.IsProxy() {
		kind = "proxy"
	}
	return append([]credential.Finding{good("x509.ok", x.Path(), kind+" of "+x.Identity(), "lives for another "+credential.Span(x.NotAfter().Sub(d.Env.Now())))}, soon...)
}

// renewal is how long before its end a user's certificate should be renewed.
const renewal = 30 * 24 * time.Hour

// userCert says, where there is no proxy, whether one can be made.
func (d Doctor) userCert() []credential.Finding {
	user, err := credential.FindUserCert(d.Env, d.Opts)
	f, isFinding := err.(*credential.Finding)
	switch {
	case err == nil && user.Valid(d.Env.Now()) == nil:
		return []credential.Finding{good("user.ok", user.Path(), "certificate of "+user.Identity(), "a proxy can be made from it: grid auth proxy")}
	case isFinding && f.ID == "x509.key-encrypted":
		return []credential.Finding{good("user.ok", f.Subject, "the user's certificate is there, its key encrypted", "a proxy can be made from it: grid auth proxy")}
	case isFinding && f.Severity == credential.Problem:
		return []credential.Finding{*f}
	}
	return nil
}

func (d Doctor) token(set *credential.Set) []credential.Finding {
	if set.Token == nil || set.Token.Valid(d.Env.Now()) != nil {
		return nil
	}
	why := "lives for another " + credential.Span(set.Token.Expiry().Sub(d.Env.Now()))
	if set.Token.Expiry().IsZero() {
		why = "it does not say how long it lives"
	}
	return []credential.Finding{good("token.ok", set.Token.Source(), "bearer token of "+set.Token.Subject()+" by "+set.Token.Issuer(), why)}
}

func (d Doctor) logins() []credential.Finding {
	sessions, err := d.Logins.List(d.Env)
	if err != nil {
		return []credential.Finding{*asFinding(err)}
	}
	var fs []credential.Finding
	for _, s := range sessions {
		fs = append(fs, good("login.ok", s.Issuer, "login stored", "tokens for single endpoints come from it"))
	}
	return fs
}
