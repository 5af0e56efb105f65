package credential

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Minter gets new bearer tokens: from an agent, or with a refresh token.
type Minter interface {
	// Mint returns a token for one audience with the scopes. A *Finding of
	// id "login.absent" means it has no login to get tokens from.
	Mint(ctx context.Context, audience string, scopes []string) (*Token, error)
}

// mintCache is the cache in front of a Set's Minter. The zero value is ready.
type mintCache struct {
	mu     sync.Mutex
	tokens map[string]minted
}

// minted is a token, and when it was got.
type minted struct {
	*Token
	at time.Time
}

// lasts tells whether the token may still be used: neither the clock nor the time that
// has passed since it was got says that it is at its end. So it is given up in time,
// too, where the clock was set back meanwhile.
func (m minted) lasts(now time.Time) bool {
	end := m.Expiry()
	return end.IsZero() || end.Sub(now) > mintMargin && end.Sub(m.at)-now.Sub(m.at) > mintMargin
}

// mintMargin is how long a cached token must still live to be used.
const mintMargin = time.Minute

// TokenFor returns a token that fits an endpoint: the one discovered when its
// audience, scopes and life allow, else one from the Minter, which is kept
// until shortly before it expires. Scopes are the ones the operation needs:
// "compute.create" and so on. The error is a *Finding that says what is wrong
// with the token at hand.
func (s *Set) TokenFor(ctx context.Context, endpoint string, scopes ...string) (*Token, error) {
	lack := s.tokenLack(endpoint, scopes)
	if lack == nil {
		return s.Token, nil
	}
	if s.Minter == nil {
		return nil, lack
	}
	t, err := s.minted.get(ctx, s.Minter, AudienceOf(endpoint), scopes, s.clock())
	if f, ok := err.(*Finding); ok && f.ID == "login.absent" {
		return nil, lack
	}
	if err == nil && !s.due(t, endpoint) { // an issuer need not give what it was asked for
		return nil, t.Fits(endpoint)
	}
	return t, err
}

func (s *Set) clock() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// latest is what time it is by the clock, or by what has passed since the token was found,
// whichever is later: where the clock was set back meanwhile, tokens end all the same.
func (s *Set) latest() time.Time {
	now := s.clock()
	if s.found.IsZero() {
		return now
	}
	// Without the readings of a clock that nobody sets, which are what both have in common.
	return time.Unix(0, max(now.UnixNano(), s.found.Add(now.Sub(s.found)).UnixNano()))
}

// tokenLack says why the discovered token does not do; nil when it does.
func (s *Set) tokenLack(endpoint string, scopes []string) *Finding {
	if s.Token == nil {
		if f := s.Finding("token"); f != nil {
			return f
		}
		return problem("token.absent", endpoint, "there is no bearer token", "", "grid auth login --issuer URL")
	}
	for _, f := range s.Token.check(s.latest()) {
		if f.Severity == Problem {
			return &f
		}
	}
	return s.Token.Fits(endpoint, scopes...)
}

// Fits says what keeps the token from being right for an operation at an
// endpoint, going by what it states; nil when nothing does.
func (t *Token) Fits(endpoint string, scopes ...string) *Finding {
	if t.opaque {
		return nil
	}
	if !t.For(endpoint) {
		return problem("token.audience", t.source, "the token is meant for another endpoint",
			"its audience is "+strings.Join(t.Audience(), ", ")+"; "+AudienceOf(endpoint)+" wants its own name there",
			"grid auth login --audience "+AudienceOf(endpoint))
	}
	for _, want := range scopes {
		if len(t.Scopes()) > 0 && !t.HasScope(want) {
			return problem("token.scope", t.source, "the token lacks the scope "+want,
				"it has "+strings.Join(t.Scopes(), " "), "grid auth login --scope "+want)
		}
	}
	return nil
}

func (c *mintCache) get(ctx context.Context, m Minter, audience string, scopes []string, now time.Time) (*Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := audience + " " + strings.Join(scopes, " ")
	if t := c.tokens[key]; t.Token != nil && t.lasts(now) {
		return t.Token, nil
	}
	t, err := m.Mint(ctx, audience, scopes)
	if err != nil {
		return nil, err
	}
	if c.tokens == nil {
		c.tokens = map[string]minted{}
	}
	c.tokens[key] = minted{t, now}
	return t, nil
}

// TokenOrAny is TokenFor, but settles for the discovered token, if it is valid
// and meant for the endpoint, where its scopes do not fit by what it states:
// servers do not all look at scopes. A token for another audience is given to
// nobody, unless the user named the host: who gets it could use it there.
func (s *Set) TokenOrAny(ctx context.Context, endpoint string, scopes ...string) (*Token, error) {
	t, err := s.TokenFor(ctx, endpoint, scopes...)
	if at := s.AtHand(endpoint); err != nil && at != nil {
		return at, nil
	}
	return t, err
}

// AtHand is the discovered token, where it is in its time and may be given to an
// endpoint, whatever its scopes; nil: there is none. Nobody is asked for it.
func (s *Set) AtHand(endpoint string) *Token {
	if s.Token != nil && s.Token.Valid(s.clock()) == nil && s.due(s.Token, endpoint) {
		return s.Token
	}
	return nil
}

// due reports whether a token may be given to an endpoint.
func (s *Set) due(t *Token, endpoint string) bool {
	u, err := url.Parse(endpoint)
	return t.For(endpoint) || err == nil && s.AnyToken != nil && s.AnyToken(u.Hostname())
}

// Valid says whether the token is in its time; the error is a *Finding.
func (t *Token) Valid(now time.Time) error { return firstProblem(t.check(now)) }

// Valid says whether the whole chain is in its time and of a format that
// services accept; the error is a *Finding.
func (x *X509) Valid(now time.Time) error { return firstProblem(x.check(now)) }

func firstProblem(fs []Finding) error {
	for _, f := range fs {
		if f.Severity == Problem {
			return &f
		}
	}
	return nil
}
