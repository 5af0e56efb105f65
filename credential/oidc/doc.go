// Package oidc gets bearer tokens: by the device flow (RFC 8628) from any
// OpenID Connect issuer, with the refresh token that flow gives, and from a
// running oidc-agent.
package oidc

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// finding makes a problem with a cause.
func finding(id, subject, what, mend string, err error) *credential.Finding {
	f := &credential.Finding{ID: id, Severity: credential.Problem, Subject: subject, What: what, Mend: mend}
	if err != nil {
		f.Why = said(err)
	}
	return f
}

// said is the issuer's own words: an error of OAuth 2 (RFC 6749 section 5.2),
// never a response body, which may hold secrets; cut.
func said(err error) string {
	words := wordsOf(err)
	return words[:min(len(words), maxWords)]
}

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
