package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"gridbroker/credential"
)

// Endpoint looks at an https endpoint: name and connection, its certificate,
// the clocks, and what it says to each of the user's credentials.
func (d Doctor) Endpoint(ctx context.Context, endpoint string, set *credential.Set) []credential.Finding {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return []credential.Finding{{ID: "endpoint.url", Severity: credential.Problem, Subject: endpoint, What: "an https URL is wanted here", Mend: "https://host:port/arex, as grid resources shows it"}}
	}
	if set.Trust == nil {
		return nil // Local has said what is wrong
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	hello, f := d.handshake(ctx, host, set)
	if f != nil {
		return []credential.Finding{*f}
	}
	return d.ask(ctx, u, set, hello)
}

// hello is what a first connection, without a credential, shows.
type hello struct {
	host     string
	state    tls.ConnectionState
	asked    bool     // it asked for a client certificate
	accepted [][]byte // the CAs it names when asking
}

func (d Doctor) handshake(ctx context.Context, host string, set *credential.Set) (*hello, *credential.Finding) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	h := &hello{host: host}
	dialer := &credential.Dialer{Trust: set.Trust, Timeout: d.timeout(), Asked: func(authorities [][]byte) { h.asked, h.accepted = true, authorities }}
	conn, err := dialer.Dial(ctx, "tcp", host)
	if err != nil {
		return nil, connectProblem(host, set, err)
	}
	defer conn.Close()
	h.state = conn.ConnectionState()
	return h, nil
}

// connectProblem tells DNS, network, and certificates apart.
func connectProblem(host string, set *credential.Set, err error) *credential.Finding {
	if f := set.Explain(host, err); f != nil && f.ID != "refused.certificate-required" {
		return f
	}
	f := &credential.Finding{ID: "endpoint.unreachable", Severity: credential.Problem, Subject: host, What: "no connection", Why: err.Error(), Mend: "check host name and port; a firewall may be in the way"}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		f.ID, f.What, f.Why, f.Mend = "endpoint.name", "the host name is not known", e.Error(), "check the spelling"
	} else if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, io.EOF) {
		f.ID, f.What, f.Mend = "endpoint.no-tls", "this port does not speak TLS", "check the port"
	}
	return f
}

func (h *hello) findings(now time.Time) []credential.Finding {
	c := h.state.PeerCertificates[0]
	fs := []credential.Finding{good("server.ok", h.host, "certificate of "+credential.DN(c.RawSubject), "by "+credential.DN(c.RawIssuer)+", "+tls.VersionName(h.state.Version))}
	if left := credential.LifeLeft(h.state.PeerCertificates, now); left < 7*24*time.Hour {
		fs = append(fs, credential.Finding{ID: "server.expires-soon", Severity: credential.Warning, Subject: h.host, What: "its certificate expires in " + credential.Span(left), Mend: "tell the site"})
	}
	return fs
}

// ask sends a harmless request with each credential.
func (d Doctor) ask(ctx context.Context, u *url.URL, set *credential.Set, hello *hello) []credential.Finding {
	fs := hello.findings(d.Env.Now())
	plain := d.request(ctx, set.Trust.HTTPClient(nil, d.timeout()), u, "")
	if !set.Trust.OfGrid(hello.state) && (set.Public == nil || !set.Public(u.Hostname())) {
		return append(fs, *credential.PublicCA(u.Hostname(), nil)) // nothing is shown to it
	}
	fs = append(fs, d.clock(ctx, u, set, plain)...)
	if x := set.X509; x != nil && x.Valid(d.Env.Now()) == nil {
		if f := hello.namesOur(x); f != nil {
			fs = append(fs, *f)
		}
		r := d.request(ctx, set.Dialer(x).HTTPClient(d.timeout()), u, "")
		fs = append(fs, d.verdict("x509", u, r, plain, set, credential.Suspect(x, nil, u.String(), "compute.read", d.Env.Now())))
	}
	if t, err := set.TokenOrAny(ctx, u.String(), "compute.read"); err == nil {
		r := d.request(ctx, set.Dialer(nil).HTTPClient(d.timeout()), u, t.Raw())
		fs = append(fs, d.verdict("token", u, r, plain, set, credential.Suspect(nil, t, u.String(), "compute.read", d.Env.Now())))
		fs = append(fs, lacking(t, u, r)...)
	} else if f, ok := errors.AsType[*credential.Finding](err); ok && f.ID != "token.absent" {
		fs = append(fs, *f)
	}
	return fs
}

// lacking warns of a token that is let in but may not submit.
func lacking(t *credential.Token, u *url.URL, r answer) []credential.Finding {
	lack := t.Fits(u.String(), "compute.create", "compute.modify")
	if lack == nil || r.err != nil || r.status >= 300 {
		return nil
	}
	lack.Severity = credential.Warning
	return []credential.Finding{*lack}
}

// answer is what a server said to a request.
type answer struct {
	status int
	words  string
	date   time.Time // its clock, in whole seconds; zero: not told
	at     time.Time // when the answer came, by our clock
	took   time.Duration
	err    error
}

// request asks an ARC CE for the list of our jobs, which needs a right, and
// anything else for its root.
func (d Doctor) request(ctx context.Context, client *http.Client, u *url.URL, token string) answer {
	defer client.CloseIdleConnections()
	start := time.Now()
	resp, err := get(ctx, client, base(u)+"/rest/1.0/jobs", "application/json", token)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, words: resp.Status, at: d.Env.Now(), took: time.Since(start)}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	if text := strings.TrimSpace(string(body)); resp.StatusCode >= 400 && text != "" && text[0] != '<' {
		a.words += ": " + text
	}
	a.date, _ = http.ParseTime(resp.Header.Get("Date"))
	return a
}

// base is the endpoint's URL without a path of the REST interface.
func base(u *url.URL) string {
	b, _, _ := strings.Cut(strings.TrimRight(u.String(), "/")+"/", "/rest/")
	return strings.TrimRight(b, "/")
}

// get sends one request; a connection that breaks off without a word is tried
// once more, since A-REX spoils a handshake now and then.
func get(ctx context.Context, client *http.Client, where, accept, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if brokenOff(err) {
		resp, err = client.Do(req)
	}
	return resp, err
}

func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// namesOur warns when the server lists the CAs it accepts and ours is not there.
func (h *hello) namesOur(x *credential.X509) *credential.Finding {
	if !h.asked {
		return &credential.Finding{ID: "endpoint.no-certificate-wanted", Severity: credential.Note, Subject: h.host, What: "the server does not ask for a certificate", Why: "X.509 is of no use there, or asked for later"}
	}
	if len(h.accepted) == 0 {
		return nil
	}
	for _, c := range x.Chain() {
		for _, name := range h.accepted {
			if string(name) == string(c.RawIssuer) {
				return nil
			}
		}
	}
	return &credential.Finding{ID: "endpoint.ca-not-listed", Severity: credential.Warning, Subject: h.host, What: "the server does not list your authority among those it accepts",
		Why: x.Issuer(), Mend: "ask the site to install that CA"}
}

// verdict says whether the endpoint let this credential in.
func (d Doctor) verdict(kind string, u *url.URL, r, plain answer, set *credential.Set, suspect *credential.Finding) credential.Finding {
	name := map[string]string{"x509": "the X.509 credential", "token": "the bearer token"}[kind]
	if r.err != nil {
		if f := set.Explain(u.Host, r.err); f != nil {
			return *f
		}
		return credential.Finding{ID: "endpoint.broken", Severity: credential.Problem, Subject: u.Host, What: "no answer to a request with " + name, Why: cause(r.err), Mend: "try again; if it stays so, tell the site"}
	}
	switch {
	case r.status < 300 && plain.err == nil && plain.status < 300:
		return credential.Finding{ID: "endpoint.open", Severity: credential.Note, Subject: u.Host, What: "it answers everybody: nothing can be said about " + name, Why: r.words}
	case r.status < 300:
		return good("endpoint."+kind+"-accepted", u.Host, "it lets "+name+" in", "")
	case r.status == http.StatusNotFound:
		return credential.Finding{ID: "endpoint.not-arc", Severity: credential.Note, Subject: u.Host, What: "it is no ARC CE, so whether " + name + " is let in was not tried", Why: r.words,
			Mend: "if it should be one, check the path: https://host:port/arex"}
	}
	f := credential.Finding{ID: "endpoint." + kind + "-refused", Severity: credential.Problem, Subject: u.Host, What: "it does not let " + name + " in", Why: "it says: " + r.words, Mend: askSite(kind, set)}
	switch {
	case kind == "token" && strings.Contains(r.words, "scopes do not match"):
		f.Mend = "a token with compute.read, compute.create, compute.modify and compute.cancel; ARC 7.0.0 takes only tokens with a single scope, so use a proxy there"
	case suspect != nil:
		f.Why += "; likely: " + suspect.What + " [" + suspect.ID + "]"
		f.Mend = suspect.Mend + "; else " + f.Mend
	}
	return f
}

// askSite says what to ask the site, with the name it knows the user by.
func askSite(kind string, set *credential.Set) string {
	if kind == "x509" {
		who := set.X509.Identity()
		if vo := set.X509.VO(); vo != "" {
			who += " of the VO " + vo
		}
		return "ask the site to let in " + who
	}
	if set.Token.Issuer() == "" { // an opaque one says nothing of itself
		return "ask the site whether it knows this token"
	}
	return "ask the site whether it takes tokens of " + set.Token.Issuer() + " with subject " + set.Token.Subject()
}

// cause is the innermost of an http.Client's error, without the URL.
func cause(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
