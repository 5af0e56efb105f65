// Package oidc gets bearer tokens: by the device flow (RFC 8628) from any
// OpenID Connect issuer, with the refresh token that flow gives, and from a
// running oidc-agent.
package oidc

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// finding makes a problem with a cause; shown are secrets that the issuer had been shown.
func finding(id, subject, what, mend string, err error, shown ...string) *credential.Finding {
	f := &credential.Finding{ID: id, Severity: credential.Problem, Subject: subject, What: what, Mend: mend}
	if err != nil {
		f.Why = said(err, shown)
	}
	return f
}

// said is the issuer's own words: an error of OAuth 2 (RFC 6749 section 5.2),
// never a response body, which may hold secrets; cut. Some issuers say there which
// refresh token it was that they do not take.
func said(err error, shown []string) string {
	words := wordsOf(err)
	for _, secret := range shown {
		if secret != "" {
			words = strings.NewReplacer(secret, ourSecret, url.QueryEscape(secret), ourSecret).Replace(words)
		}
	}
	return words[:min(len(words), maxWords)]
}

// ourSecret stands for a secret that an issuer says back.
const ourSecret = "[our secret]"

func wordsOf(err error) string {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err.Error()
	}
	if e.ErrorCode == "" {
		return "the issuer answered " + e.Response.Status
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", e.ErrorCode, e.ErrorDescription))
}

// code is the OAuth 2 error code; "" when there is none.
func code(err error) string {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return e.ErrorCode
	}
	return ""
}
