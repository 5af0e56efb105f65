package credential

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// ThroughProxy hides the password of the environment's proxy in what a transport says: in
// its errors, which have the words of a proxy that refuses, or of what was to be its
// address; over plain HTTP, where the proxy answers in the place of the server, in the
// status and up to 64 KiB of the body of refusals as well.
func ThroughProxy(t http.RoundTripper) http.RoundTripper { return proxied{t} }

type proxied struct{ under http.RoundTripper }

// proxyWords is how much of a proxy's refusal is kept, in bytes.
const proxyWords = 64 << 10

// leastSecret is how long a password has to be, in bytes, to be looked for: a shorter one
// is part of words that have nothing to do with it.
const leastSecret = 3

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.under.RoundTrip(r)
	if err == nil && (r.URL.Scheme != "http" || resp.StatusCode < 400) {
		return resp, nil
	}
	secrets := proxySecrets(os.Getenv)
	if err != nil {
		return nil, hidden(err, secrets)
	}
	if len(secrets) == 0 {
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, proxyWords))
	resp.Body.Close()
	if err != nil {
		return nil, hidden(err, secrets)
	}
	resp.Status = without(resp.Status, secrets)
	text = []byte(without(string(text), secrets))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

// CloseIdleConnections is for http.Client's method of this name.
func (p proxied) CloseIdleConnections() {
	if c, ok := p.under.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// proxyVariables are those that name proxies, each in capitals and in small letters.
var proxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY"}

// proxySecrets are the passwords in the proxies' addresses, as they are written there, are
// meant, and are sent; the longest first.
func proxySecrets(getenv func(string) string) (secrets []string) {
	for _, name := range proxyVariables {
		for _, value := range []string{getenv(name), getenv(strings.ToLower(name))} {
			user, written := userOf(value)
			_, password, _ := strings.Cut(user, ":")
			if len(password) < leastSecret {
				continue
			}
			secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(user)))
			_, raw, _ := strings.Cut(written, ":")
			secrets = append(secrets, raw)
			if password != raw {
				secrets = append(secrets, password)
			}
		}
	}
	return secrets
}

// userOf is the user and password of an address, as they are meant and as they are
// written, also where it is none that can be used.
func userOf(address string) (user, written string) {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", ""
	}
	written = address[:at]
	name, password, _ := strings.Cut(written, ":")
	return unescaped(name) + ":" + unescaped(password), written
}

func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// without is a text in which the secrets are hidden.
func without(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "(the proxy's password)")
	}
	return text
}

// hidden is an error without the secrets in what it says.
func hidden(err error, secrets []string) error {
	said := err.Error()
	if text := without(said, secrets); text != said {
		return &hiddenError{text, err}
	}
	return err
}

type hiddenError struct {
	text string
	err  error
}

// Error implements error.
func (e *hiddenError) Error() string { return e.text }

// Unwrap gives the error itself, to be told apart from others.
func (e *hiddenError) Unwrap() error { return e.err }
