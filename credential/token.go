package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Token is a bearer token. It never shows itself: every way of printing it
// gives a placeholder; Raw alone returns it.
type Token struct {
	raw    string
	source string // the variable or file it came from
	claims claims
	opaque bool // not a JWT: nothing is known about it
}

// claims are those of RFC 7519, RFC 9068 and the WLCG token profile 1.3 that
// messages speak of. The signature is not looked at: that is the server's
// business, and nothing is decided on these values but what to tell the user.
type claims struct {
	Subject  string    `json:"sub"`
	Issuer   string    `json:"iss"`
	Audience audience  `json:"aud"`
	Scope    scopes    `json:"scope"`
	Groups   []string  `json:"wlcg.groups"`
	Version  string    `json:"wlcg.ver"`
	Expiry   timestamp `json:"exp"`
	Begin    timestamp `json:"nbf"`
	Issued   timestamp `json:"iat"`
}

// audience is a string or a list of strings.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*a = make(audience, 1)
		return json.Unmarshal(b, &(*a)[0])
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// scopes is a list in a string, or (some issuers) a list.
type scopes []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scopes) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(s))
	}
	var text string
	err := json.Unmarshal(b, &text)
	*s = strings.Fields(text)
	return err
}

// timestamp is seconds since 1970, possibly with a fraction.
type timestamp struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *timestamp) UnmarshalJSON(b []byte) error {
	var s float64
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s < 0 || s > 253402300799 { // the end of the year 9999
		return fmt.Errorf("time %g out of range", s)
	}
	t.Time = time.Unix(int64(s), 0)
	return nil
}

// ParseToken reads a bearer token; white space around it is dropped. A token
// that is no JWT is accepted and opaque. Source says in messages where it came
// from. The error is a *Finding and never contains the token.
func ParseToken(source, text string) (*Token, error) {
	raw := strings.Trim(text, " \t\n\v\f\r") // C99 isspace, as the discovery document asks for
	if raw == "" {
		return nil, &Finding{ID: "token.absent", Severity: Note, Subject: source, What: "the token is empty"}
	}
	if !bearerSyntax(raw) {
		return nil, problem("token.malformed", source, "this is no bearer token",
			"it has characters that RFC 6750 does not allow, or more than one line", "store the token alone, without a header name or quotes")
	}
	t := &Token{raw: raw, source: source}
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || !strings.HasPrefix(raw, "ey") {
		t.opaque = true
		return t, nil
	}
	if err := t.decode(parts[1]); err != nil {
		return nil, problem("token.malformed", source, "the token looks like a JWT but cannot be read", "", "get a new token").because(err)
	}
	return t, nil
}

// decode reads the claims. Errors do not repeat the content.
func (t *Token) decode(payload string) error {
	body, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(payload, "="))
	if err != nil {
		return errors.New("its second part is not base64url")
	}
	if err := json.Unmarshal(body, &t.claims); err != nil {
		return errors.New("its claims are not the JSON expected")
	}
	return nil
}

// bearerSyntax is b64token of RFC 6750 section 2.1.
func bearerSyntax(s string) bool {
	body := strings.TrimRight(s, "=")
	for _, c := range []byte(body) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("-._~+/", rune(c)) {
			return false
		}
	}
	return body != ""
}

const redacted = "(bearer token)"

// String hides the token.
func (t *Token) String() string { return redacted }

// GoString hides the token.
func (t *Token) GoString() string { return redacted }

// Format hides the token from every verb of fmt.
func (t *Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the token from log/slog.
func (t *Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the token.
func (t *Token) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// Raw is the token itself, for an Authorization header and nothing else.
func (t *Token) Raw() string { return t.raw }

// Source is the variable or file the token came from.
func (t *Token) Source() string { return t.source }

// Opaque reports that the token is no JWT: all claims are then empty.
func (t *Token) Opaque() bool { return t.opaque }

// Subject is the claim "sub", as the token states it.
func (t *Token) Subject() string { return t.claims.Subject }

// Issuer is the claim "iss".
func (t *Token) Issuer() string { return t.claims.Issuer }

// Audience is the claim "aud".
func (t *Token) Audience() []string { return t.claims.Audience }

// Scopes is the claim "scope", split.
func (t *Token) Scopes() []string { return t.claims.Scope }

// Groups is the claim "wlcg.groups".
func (t *Token) Groups() []string { return t.claims.Groups }

// Expiry is the claim "exp"; zero when there is none.
func (t *Token) Expiry() time.Time { return t.claims.Expiry.Time }

// Issued is the claim "iat"; zero when there is none.
func (t *Token) Issued() time.Time { return t.claims.Issued.Time }

// HasScope reports whether the token states the scope.
func (t *Token) HasScope(scope string) bool { return slices.Contains(t.claims.Scope, scope) }

// anyAudience are the values that stand for every endpoint: WLCG profile 1.3,
// and SciTokens 2.0.
var anyAudience = []string{"https://wlcg.cern.ch/jwt/v1/any", "ANY"}

// For reports whether the token states the endpoint among its audiences. An
// opaque token or one without the claim is taken to be for all.
func (t *Token) For(endpoint string) bool {
	if len(t.claims.Audience) == 0 {
		return true
	}
	want := AudienceOf(endpoint)
	for _, have := range t.claims.Audience {
		if slices.Contains(anyAudience, have) || have == want || have == endpoint {
			return true
		}
	}
	return false
}

// check lists what is wrong with a token that could be read.
func (t *Token) check(now time.Time) []Finding {
	if t == nil || t.opaque {
		return nil
	}
	switch exp, nbf := t.claims.Expiry.Time, t.claims.Begin.Time; {
	case !exp.IsZero() && now.After(exp):
		return []Finding{*problem("token.expired", t.source, "the token expired "+Span(now.Sub(exp))+" ago", "", "grid auth login")}
	case now.Before(nbf):
		return []Finding{*problem("token.not-yet-valid", t.source, "the token is not valid for another "+Span(nbf.Sub(now)), "",
			"compare this machine's clock with the time elsewhere: grid auth doctor")}
	case !exp.IsZero() && exp.Sub(now) < 5*time.Minute:
		return []Finding{{ID: "token.expires-soon", Severity: Warning, Subject: t.source, What: "the token expires in " + Span(exp.Sub(now)), Mend: "grid auth login"}}
	}
	return nil
}
