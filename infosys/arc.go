package infosys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/foreign"
	"gridbroker/glue"
)

// maxInfo bounds an ARC information document.
const maxInfo = 64 << 20

// ARC is a Source that asks a computing element by ARC's REST interface. The
// document is asked for as version 1.0, which every server has, and as XML:
// the JSON of 6.17, 7.0 and 7.2 differs.
type ARC struct {
	URL   string // the name shown, and the base: https://host/arex
	Extra []string
	// Dialer connects to the server, with the user's credential or without;
	// nil: the system's authorities, and no credential.
	Dialer func(withCredential bool) (*credential.Dialer, error)
	Token  func(ctx context.Context, url string) (string, error) // nil or "": none
	Now    func() time.Time
	guest
}

// newARC takes an https URL, without a query.
func newARC(u *url.URL) (*ARC, error) {
	if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: want https://host[:port]/arex", u.Redacted())
	}
	return &ARC{URL: strings.TrimSuffix(u.String(), "/")}, nil
}

// Name implements Source.
func (a *ARC) Name() string { return a.URL }

// CacheKey implements Keyed.
func (a *ARC) CacheKey() string { return a.URL + " extra=" + strings.Join(a.Extra, ",") }

// Resources implements Source.
func (a *ARC) Resources(ctx context.Context) ([]glue.Resource, error) {
	rs, err := a.get(ctx, true)
	if f, ok := errors.AsType[*credential.Finding](err); ok && f.ID == "server.public-ca" {
		// What it tells everybody can be asked for without a credential.
		rs, err = a.get(ctx, false)
	}
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // the URL is said already
		}
		return nil, fmt.Errorf("%s: %w", a.URL, contextError(ctx, err))
	}
	return rs, nil
}

func (a *ARC) get(ctx context.Context, withCredential bool) ([]glue.Resource, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/rest/1.0/info", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/xml")
	client, err := a.client(req, withCredential)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body io.Reader = &limited{ctx: ctx, r: &paid{resp.Body, a.account}, left: maxInfo}
	if shown := token(req); shown != "" {
		body = &hushed{in: body, secret: []byte(shown)}
		resp.Status = strings.ReplaceAll(resp.Status, shown, "[our token]")
	}
	if resp.StatusCode != http.StatusOK {
		return nil, httpError(resp, body)
	}
	d := glue.NewDecoder(a.URL, a.Extra...)
	d.Charge(a.account)
	if err := addInfo(d, resp.Header.Get("Content-Type"), body); err != nil {
		return nil, fmt.Errorf("information document: %w", err)
	}
	return d.Resources(a.now()), d.Err()
}

// client has its own connections; redirects are not followed, because the
// credential is meant for this host.
func (a *ARC) client(req *http.Request, withCredential bool) (*http.Client, error) {
	transport := credential.Wary(&http.Transport{Proxy: http.ProxyFromEnvironment})
	transport.DialContext = a.dialer().DialContext
	if a.Dialer != nil {
		d, err := a.Dialer(withCredential)
		if err != nil {
			return nil, err
		}
		if a.only != nil {
			d.Control, transport.Proxy = a.control(), nil // a proxy would go where we do not
		}
		transport.DialTLSContext = d.DialTLS
	}
	if a.Token != nil && withCredential {
		token, err := a.Token(req.Context(), a.URL)
		if err != nil {
			return nil, err
		}
		if token != "" {
			req.Header.Set("Authorization", bearer+token)
		}
	}
	return &http.Client{Transport: credential.ThroughProxy(transport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// bearer is what stands before a token.
const bearer = "Bearer "

// token is the one that a request shows, "" where it shows none.
func token(req *http.Request) string {
	text, _ := strings.CutPrefix(req.Header.Get("Authorization"), bearer)
	return text
}

// HTTPError is a refusal in the server's words: A-REX puts them into the
// reason phrase, or a line of text.
type HTTPError struct {
	Code int    // HTTP status
	Text string // "403 Forbidden: Operation is not allowed"
}

// Error implements error.
func (e *HTTPError) Error() string { return "HTTP " + foreign.Text(e.Text) }

// Unauthorised reports whether the server asks for another credential. A-REX
// says 500 to users it cannot map.
func (e *HTTPError) Unauthorised() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden ||
		e.Code == http.StatusInternalServerError && strings.Contains(e.Text, "can't be assigned")
}

func httpError(resp *http.Response, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, 512))
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line == "" || strings.HasPrefix(line, "<") {
		return &HTTPError{resp.StatusCode, resp.Status}
	}
	return &HTTPError{resp.StatusCode, resp.Status + ": " + line}
}

func addInfo(d *glue.Decoder, contentType string, body io.Reader) error {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case strings.HasSuffix(kind, "xml"), kind == "":
		return d.AddARCInfoXML(body)
	case strings.HasSuffix(kind, "json"):
		return d.AddARCInfoJSON(body)
	}
	return fmt.Errorf("content type %s instead of application/xml", kind)
}

func (a *ARC) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}
