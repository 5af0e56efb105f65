// Package doctor looks credentials over step by step - files, authorities,
// VOMS servers, logins, then what an endpoint makes of them - and says what is
// wrong and how to mend it.
package doctor

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/oidc"
	"gridbroker/credential/voms"
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
	if set.Trust != nil {
		fs = append(fs, set.Trust.Check(set.X509)...)
	}
	fs = append(fs, set.Findings...)
	fs = append(fs, d.logins()...)
	return set, append(fs, d.voms(ctx, set)...)
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
	kind := "certificate"
	if x.IsProxy() {
		kind = "proxy"
	}
	return []credential.Finding{good("x509.ok", x.Path(), kind+" of "+x.Identity(), "lives for another "+credential.Span(x.NotAfter().Sub(d.Env.Now())))}
}

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

// voms reads the vomses files and knocks at the servers of the user's VO.
func (d Doctor) voms(ctx context.Context, set *credential.Set) []credential.Finding {
	servers, errs := voms.ReadVomses(d.Env.VOMSES()...)
	var fs []credential.Finding
	for _, err := range errs {
		fs = append(fs, credential.Finding{ID: "vomses.malformed", Severity: credential.Problem, What: "a vomses file cannot be used", Why: err.Error(), Mend: "correct the line"})
	}
	if set.X509 == nil || set.X509.VO() == "" {
		return fs
	}
	mine := voms.ServersOf(servers, set.X509.VO())
	if len(mine) == 0 {
		return append(fs, credential.Finding{ID: "vomses.absent", Severity: credential.Note, Subject: set.X509.VO(), What: "no VOMS server is known for the VO of the proxy",
			Why: "the proxy cannot be made anew here", Mend: "add the VO's line to ~/.voms/vomses"})
	}
	return append(fs, d.knock(ctx, mine)...)
}

// knock opens a connection to each server, side by side.
func (d Doctor) knock(ctx context.Context, servers []voms.Server) []credential.Finding {
	fs := make([]credential.Finding, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, d.timeout())
			defer cancel()
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
			if err != nil {
				fs[i] = credential.Finding{ID: "voms.unreachable", Severity: credential.Warning, Subject: s.String(), What: "the VOMS server of " + s.VO + " does not answer",
					Why: err.Error(), Mend: fmt.Sprintf("if it has moved, correct %s:%d", s.File, s.Line)}
				return
			}
			conn.Close()
			fs[i] = good("voms.reachable", s.String(), "VOMS server of "+s.VO+" answers", "")
		})
	}
	wg.Wait()
	return fs
}
