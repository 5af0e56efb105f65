package scheduler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"gridbroker/credential"
)

// TokenUser is somebody known by a token of the operator's own. The token is
// kept as its SHA-256.
type TokenUser struct {
	SHA256  string   `toml:"sha256"`
	Subject string   `toml:"subject"`
	VO      string   `toml:"vo"`
	Groups  []string `toml:"groups"`
	Admin   bool     `toml:"admin"`
}

// HashToken is how the configuration names a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Door finds out who asks: by a grid certificate or proxy of the connection, a
// token of an OIDC issuer, or one of the operator's own.
type Door struct {
	Trust   func() *credential.Trust // whom to believe now; nil, or where it gives none: no certificates
	VOMSDir string
	Hosts   []string // names of this host, for attributes that are meant for some hosts
	Tokens  []TokenUser
	Issuers []string // OIDC issuers
	// IssuerTrust are the authorities of issuers' certificates now; nil, or where it gives none: the system's.
	IssuerTrust func() *credential.Trust
	VOs         map[string][]string // of which an issuer's tokens may tell that somebody is a member; of one without: any
	Audience    string              // that their tokens must name
	Admins      []string            // subjects
	Clusters    map[string]ClusterConfig
	Log         *slog.Logger // nil: nothing is logged

	mu      sync.Mutex
	issuers map[string]*issuer
}

// ErrStranger is a request without a credential that is good here.
var ErrStranger = errors.New("who are you? Show a grid certificate, a proxy, or a bearer token")

// errLimited is a proxy that may not start jobs, as those that jobs have with them: who takes one from a node is not to hand in more,
// nor, where it is an administrator's, to act as one.
var errLimited = errors.New("the proxy that you showed is limited, and may not start jobs: make a full one (grid auth proxy)")

// audienceError is a good token of an issuer that is believed, which is meant for others.
type audienceError struct {
	has  []string
	want string
}

// Error implements error.
func (e *audienceError) Error() string {
	return fmt.Sprintf("the token that you showed is for %.200q, not for %q: get one for that (grid auth login --audience)", strings.Join(e.has, " "), e.want)
}

// silentIssuerError is a token of an issuer that is believed, which cannot be asked just now.
type silentIssuerError struct {
	issuer string
	fresh  bool  // it was asked for this
	err    error // nil: what was wrong is not for strangers
}

// Error implements error.
func (e *silentIssuerError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("the issuer %s cannot be asked: %v", e.issuer, e.err)
	}
	return fmt.Sprintf("%s, whose token you showed, cannot be asked just now: try again", e.issuer)
}

// Unwrap tells what was wrong.
func (e *silentIssuerError) Unwrap() error { return e.err }

// refusal is what a stranger is told: that what he showed has run out, is limited, is a good token that is meant for
// others, or one whose issuer does not answer, which he can see himself, and of what else is wrong with it nothing.
func refusal(r *http.Request, err error, now time.Time) error {
	const again = "%s that you showed ran out at %s: renew it (grid auth status)"
	if e, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return fmt.Errorf(again, "the token", e.Expiry.UTC().Format(time.RFC3339))
	}
	if e, ok := errors.AsType[*audienceError](err); ok {
		return e
	}
	if errors.Is(err, errLimited) {
		return errLimited
	}
	if e, ok := errors.AsType[*silentIssuerError](err); ok {
		return &silentIssuerError{issuer: e.issuer}
	}
	if err != nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && r.Header.Get("Authorization") == "" {
		shown := r.TLS.PeerCertificates[0]
		if shown.NotAfter.Before(now) {
			return fmt.Errorf(again, "the certificate or proxy", shown.NotAfter.UTC().Format(time.RFC3339))
		}
		if early := shown.NotBefore.Sub(now); early > 0 {
			return fmt.Errorf("the certificate or proxy that you showed is not valid for another %s by this scheduler's clock: compare the clocks (grid auth doctor), and make it anew", credential.Span(early))
		}
	}
	return ErrStranger
}

// codeOf is the status by which a stranger is told why he is one (RFC 9110): 503 where he may be none a little later.
func codeOf(why error) int {
	if _, silent := errors.AsType[*silentIssuerError](why); silent {
		return http.StatusServiceUnavailable
	}
	return http.StatusUnauthorized
}

// Who finds out who asks.
func (d *Door) Who(r *http.Request) (Person, error) {
	p, err := d.known(r)
	if err != nil {
		return p, err
	}
	return d.rights(p), nil
}

// rights adds what somebody may do here.
func (d *Door) rights(p Person) Person {
	p.Admin = p.Admin || slices.Contains(d.Admins, p.Subject)
	for name, c := range d.Clusters {
		if slices.Contains(c.Agents, p.Subject) {
			p.Sites = append(p.Sites, name)
		}
	}
	slices.Sort(p.Sites)
	return p
}

func (d *Door) known(r *http.Request) (Person, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return d.byToken(r.Context(), strings.TrimSpace(token))
	}
	trust := d.authorities()
	if trust == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Person{}, ErrStranger
	}
	x, err := trust.Peer(r.TLS.PeerCertificates)
	if err != nil {
		return Person{}, err
	}
	if x.Limited() {
		return Person{}, errLimited
	}
	p := Person{Subject: x.Identity(), Expires: x.NotAfter()}
	p.VO, p.FQANs, p.Doubt = d.attributes(trust, x)
	p.Vouched, p.Named = credential.AttributesEnd(x), credential.NamedVOs(x)[0]
	return p, nil
}

// authorities are those to believe now; nil: there are none.
func (d *Door) authorities() *credential.Trust {
	if d.Trust == nil {
		return nil
	}
	return d.Trust()
}

// maxAttributes bounds the attributes of a person, in bytes: each of his jobs has them. A token has 16 KiB altogether.
const maxAttributes = 16 << 10

// attributes are the VOMS attributes that a certificate shows. Those that nobody vouches for are none; doubt says why.
func (d *Door) attributes(trust *credential.Trust, x *credential.X509) (vo string, fqans []string, doubt string) {
	if err := trust.VerifyACs(x, d.VOMSDir, d.Hosts...); err != nil {
		if f, ok := errors.AsType[*credential.Finding](err); ok {
			return "", nil, f.What + ": " + f.Why
		}
		return "", nil, err.Error()
	}
	size := 0
	for _, f := range x.FQANs() {
		size += len(f)
	}
	if size > maxAttributes {
		return "", nil, fmt.Sprintf("the VOMS attributes of %s are longer than %d bytes", x.VO(), maxAttributes)
	}
	return x.VO(), x.FQANs(), ""
}

func (d *Door) byToken(ctx context.Context, token string) (Person, error) {
	sum := []byte(HashToken(token))
	for _, t := range d.Tokens {
		if subtle.ConstantTimeCompare(sum, []byte(strings.ToLower(t.SHA256))) == 1 {
			return Person{Subject: t.Subject, VO: t.VO, FQANs: t.Groups, Admin: t.Admin}, nil
		}
	}
	claims, err := credential.ParseToken("the request", token)
	if err != nil || claims.Opaque() || !slices.Contains(d.Issuers, claims.Issuer()) {
		return Person{}, ErrStranger
	}
	issuer, fresh, err := d.provider(ctx, claims.Issuer())
	if err != nil {
		return Person{}, &silentIssuerError{claims.Issuer(), fresh, err}
	}
	id, err := verified(ctx, issuer, &oidc.Config{SkipClientIDCheck: true}, token)
	if _, silent := errors.AsType[*url.Error](err); silent { // its keys are not to be had
		return Person{}, &silentIssuerError{issuer: claims.Issuer(), err: err}
	}
	if err != nil {
		return Person{}, err
	}
	if d.Audience == "" || !slices.Contains(id.Audience, d.Audience) {
		return Person{}, &audienceError{id.Audience, d.Audience}
	}
	subject, err := subjectOf(id)
	if err != nil {
		return Person{}, err
	}
	p := Person{Subject: subject, Expires: id.Expiry, Vouched: id.Expiry, Token: true}
	p.VO, p.FQANs, p.Doubt = d.groups(id.Issuer, claims.Groups())
	return p, nil
}

// groups are those of a token, where its issuer speaks for all of them, and the VO of the first. Else they are
// none; doubt says why.
func (d *Door) groups(issuer string, all []string) (vo string, groups []string, doubt string) {
	vos, bound := d.VOs[issuer]
	for i, g := range all {
		of, _, _ := strings.Cut(strings.TrimPrefix(g, "/"), "/")
		switch {
		case !utf8.ValidString(g) || strings.ContainsFunc(g, unicode.IsControl):
			return "", nil, fmt.Sprintf("group %.80q of the token has control characters or is no text", g)
		case bound && !slices.Contains(vos, of):
			return "", nil, fmt.Sprintf("group %.80q of the token is of a VO for which %s does not speak", g, issuer)
		case i == 0:
			vo = of
		}
	}
	return vo, all, ""
}

// provider asks an issuer what it is, and tells whether it was asked for this.
func (d *Door) provider(ctx context.Context, name string) (p *oidc.Provider, fresh bool, err error) {
	d.mu.Lock()
	if d.issuers == nil {
		d.issuers = map[string]*issuer{}
	}
	i := d.issuers[name]
	if i == nil {
		i = &issuer{log: cmp.Or(d.Log, slog.New(slog.DiscardHandler))}
		d.issuers[name] = i
	}
	d.mu.Unlock()
	return i.believed(context.WithoutCancel(ctx), name, d.issuerClient)
}
