package infosys

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gridbroker/credential"
)

// Env is what sources take from outside. The zero Env works for everything
// that needs no credential.
type Env struct {
	// Dialer connects by TLS, for https with the user's credential or without,
	// for LDAP without. Certificates are always verified; nil means the
	// system's CAs and no credential.
	Dialer func(withCredential bool) (*credential.Dialer, error)
	// Token gives the bearer token for a URL, "" when there is none. May be nil.
	Token    func(ctx context.Context, url string) (string, error)
	Dir      string   // relative file: names start here
	Resolver string   // DNS server for archery:, host:port; "": the system's
	VO       string   // ask for what this VO may use, where a source can tell; "": all
	Extra    []string // attributes to keep besides those of glue's table
	Now      func() time.Time
	// Named are URLs of the user's: endpoints that a registry names are asked
	// at public addresses alone, but those on these hosts wherever they are.
	Named []string
}

// Opener makes sources of URLs.
type Opener struct {
	env     Env
	schemes map[string]func(*url.URL) (Source, error)
}

// NewOpener knows ldap, ldaps, ldap+starttls, https, file and archery.
func NewOpener(env Env) *Opener {
	o := &Opener{env: env}
	o.schemes = map[string]func(*url.URL) (Source, error){
		"ldap": o.ldap, "ldaps": o.ldap, startTLSScheme: o.ldap, "https": o.arc, "file": o.file, "archery": o.archery,
	}
	return o
}

// Register adds a scheme of a back-end that describes itself.
func (o *Opener) Register(scheme string, open func(*url.URL) (Source, error)) {
	o.schemes[scheme] = open
}

// Schemes lists what Open understands, sorted.
func (o *Opener) Schemes() []string { return slices.Sorted(maps.Keys(o.schemes)) }

// Open makes the source of a URL. Nothing is asked yet.
func (o *Opener) Open(rawURL string) (Source, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("source %q: %w", rawURL, err)
	}
	open, ok := o.schemes[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("source %q: no such kind; known: %s%s", u.Redacted(), strings.Join(o.Schemes(), ", "), meant(u.Redacted()))
	}
	src, err := open(u)
	if err != nil {
		return nil, fmt.Errorf("source %w", err)
	}
	return src, nil
}

// meant is what a source that is a host alone or a file, or is to be asked over plain HTTP, may have been meant to be.
func meant(source string) string {
	rest, plain := strings.CutPrefix(source, "http://")
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case plain:
		return fmt.Sprintf("; did you mean %q?", "https://"+rest)
	case strings.HasPrefix(source, "/"), strings.HasPrefix(source, "."), strings.HasSuffix(source, ".ldif"), strings.HasSuffix(source, ".json"):
		return fmt.Sprintf("; did you mean %q?", "file:"+source)
	case strings.Contains(host, ".") && path == "":
		return fmt.Sprintf("; did you mean %q, a CE, or %q, a BDII?", "https://"+host+"/arex", "ldap://"+host)
	}
	return ""
}

// OpenAll opens several; the first mistake ends it.
func (o *Opener) OpenAll(urls []string) ([]Source, error) {
	srcs := make([]Source, len(urls))
	for i, raw := range urls {
		src, err := o.Open(raw)
		if err != nil {
			return nil, err
		}
		srcs[i] = src
	}
	return srcs, nil
}

func (o *Opener) ldap(u *url.URL) (Source, error) {
	l, err := newLDAP(u)
	if err != nil {
		return nil, err
	}
	l.VO, l.Extra, l.Now = o.env.VO, o.env.Extra, o.env.Now
	if u.Scheme != "ldap" {
		l.Secure = o.secure
	}
	return l, nil
}

func (o *Opener) arc(u *url.URL) (Source, error) {
	a, err := newARC(u)
	if err != nil {
		return nil, err
	}
	a.Dialer, a.Token, a.Extra, a.Now = o.env.Dialer, o.env.Token, o.env.Extra, o.env.Now
	return a, nil
}

// secure is Env.Dialer without a credential, or what holds without it.
func (o *Opener) secure() (*credential.Dialer, error) {
	if o.env.Dialer != nil {
		return o.env.Dialer(false)
	}
	trust, err := credential.LoadTrust(credential.Env{Now: o.env.Now}, credential.Options{CAs: credential.SystemCA})
	if err != nil {
		return nil, err
	}
	return &credential.Dialer{Trust: trust}, nil
}

func (o *Opener) file(u *url.URL) (Source, error) {
	path := u.Opaque
	if path == "" {
		path = u.Path
	}
	if u.Host != "" && u.Host != "localhost" || path == "" {
		return nil, fmt.Errorf("%s: want file:NAME", u)
	}
	if unescaped, err := url.PathUnescape(path); err == nil && u.Opaque != "" {
		path = unescaped
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.env.Dir, path)
	}
	return &File{URL: u.String(), Path: path, Extra: o.env.Extra, Now: o.env.Now}, nil
}

func (o *Opener) archery(u *url.URL) (Source, error) {
	domain := strings.TrimPrefix(u.Opaque, "//")
	if domain == "" {
		domain = u.Host
	}
	return newArchery(u.String(), domain, o)
}
