package arcrest

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

var (
	errNotHTTPS     = errors.New("an ARC endpoint is https://host:port/arex")
	errNoTrust      = errors.New("there are no certificate authorities to verify servers with")
	errNoCredential = errors.New("there is neither a proxy nor a token; make one: grid auth proxy, or grid auth login")
	errTooLong      = errors.New("the answer is longer than allowed")
	errMalformed    = errors.New("the answer is not what A-REX sends")
)

// fail makes an error about this endpoint.
func (c *client) fail(kind plugins.Kind, op, said string, err error) *plugins.Error {
	return &plugins.Error{Kind: kind, Op: op, Endpoint: c.host, Said: c.redact(said), Err: err}
}

// redact takes the secrets that were shown to the server out of what it says.
func (c *client) redact(said string) string {
	c.shown.Range(func(token, _ any) bool {
		said = strings.ReplaceAll(said, token.(string), "[our token]")
		return true
	})
	return said
}

// failed classifies a request that got no answer. sent: all of it had been
// written, so that the server may have acted on it.
func (c *client) failed(ca *call, err error, sent bool) *plugins.Error {
	e := c.fail(plugins.Unavailable, ca.op, "", err)
	_, dialing := errors.AsType[*dialError](err)
	f := (&credential.Set{X509: c.who.x509}).Explain(c.base, err)
	own, found := errors.AsType[*credential.Finding](err)
	switch {
	case found: // our own policy keeps the connection from being used
		e.Kind, e.Err = plugins.Credential, own
		e.Said, e.Hint = own.What+": "+own.Why, "["+own.ID+"], mend: "+own.Mend
	case f != nil && credential.RefusesUs(err):
		e.Kind, e.Err = plugins.Credential, f
		e.Said = f.What + " (TLS alert: " + innermost(err) + ")"
		e.Hint = "[" + f.ID + "], mend: " + f.Mend
	case credential.RefusesUs(err):
		e.Kind = plugins.Credential
		e.Said = "the server refused our certificate: " + innermost(err)
		e.Hint = "see: grid auth doctor"
	case credential.Disbelieved(err):
		e.Said = innermost(err)
		e.Hint = "the server's certificate is not trusted; the certificate authorities are in X509_CERT_DIR"
		if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
			e.Hint = "tell the site, unless this machine's clock is wrong"
		}
	case sent && ca.creates && !dialing:
		e.Kind = plugins.Uncertain
		e.Said = "no answer after the request was sent: " + innermost(err)
		e.Hint = "it may have arrived; it will be looked up"
	case errors.Is(err, context.DeadlineExceeded):
		e.Said = "did not answer in time"
	case errors.Is(err, io.EOF):
		e.Said = "closed the connection without an answer"
	default:
		e.Said = innermost(err)
	}
	return e
}

// innermost drops the layers of net/http ("Get https://...: ") from a message.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		switch err.(type) {
		case interface{ Timeout() bool }, *dialError:
			err = inner
		default:
			return err.Error()
		}
	}
}

// refused classifies an answer that is no success. A-REX puts its words into
// the reason phrase; some come with a line of text as well.
func (c *client) refused(ca *call, resp *http.Response, body []byte) *plugins.Error {
	words := strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)))
	if text := strings.TrimSpace(string(body)); text != "" && !strings.HasPrefix(text, "<") && len(text) < 1000 {
		words += ": " + text
	}
	e := c.fail(plugins.Refused, ca.op, strconv.Itoa(resp.StatusCode)+" "+words, nil)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = plugins.Credential
		if strings.Contains(words, "scope") {
			e.Hint = "the token needs the scope " + ca.scope + "; ARC 7.0.0 compares a token with several scopes wrongly, use a proxy there"
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		e.Kind, e.RetryIn = plugins.Unavailable, plugins.RetryAfter(resp.Header, time.Minute)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Kind = plugins.Unavailable
		if ca.creates {
			e.Kind = plugins.Uncertain
		}
	case http.StatusNotFound, http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if ca.entry {
			e.Kind, e.Hint = plugins.Unavailable, "there is no A-REX at "+c.base
		}
	}
	return suspect(c, ca, judge(e))
}

// suspect adds to a refusal of our credential what about it is the likely
// reason, as grid auth doctor would find.
func suspect(c *client, ca *call, e *plugins.Error) *plugins.Error {
	if e.Kind != plugins.Credential {
		return e
	}
	if f := credential.Suspect(c.who.x509, c.who.token, c.base, ca.scope, c.o.Now()); f != nil {
		e.Err = f
		e.Hint = strings.TrimPrefix(e.Hint+"; likely: "+f.What+" ["+f.ID+"], mend: "+f.Mend, "; ")
	}
	return e
}

// fullRetry is when to try again a CE that takes no more jobs.
const fullRetry = 5 * time.Minute

// judge looks at words of A-REX that mean more than their code.
func judge(e *plugins.Error) *plugins.Error {
	switch {
	case strings.Contains(e.Said, "assigned configuration"):
		e.Kind = plugins.Credential
		e.Hint = "this CE does not let you in with this credential; see: grid ping, grid auth doctor"
	case strings.Contains(e.Said, "No more jobs allowed"):
		e.Kind, e.RetryIn = plugins.Refused, fullRetry
		e.Hint = "the CE has as many jobs as it takes"
	}
	return e
}
