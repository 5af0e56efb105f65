package infosys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"gridbroker/glue"
)

// maxRegistryDepth bounds how deep registries may be nested.
const maxRegistryDepth = 8

// Archery is a Source that reads an ARCHERY registry (the ARC Hierarchical
// Endpoints Registry: TXT records in DNS) and asks the endpoints it finds.
type Archery struct {
	url    string
	start  string // name to ask first
	open   func(rawURL string, a *glue.Account) (Source, error)
	lookup func(ctx context.Context, name string) ([]string, error)
	now    func() time.Time
	asked  string // what the answers depend on besides the registry
}

// newArchery makes a source of a domain, whose records are at
// _archery.DOMAIN. Endpoints are opened by o.
func newArchery(rawURL, domain string, o *Opener) (*Archery, error) {
	if domain == "" || strings.ContainsAny(domain, "/:@ ") {
		return nil, fmt.Errorf("%s: want archery:DOMAIN", rawURL)
	}
	r := &net.Resolver{}
	if server := o.env.Resolver; server != "" {
		r.PreferGo = true
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	a := &Archery{url: rawURL, start: "_archery." + domain, open: o.openGuest, lookup: r.LookupTXT, now: o.env.Now,
		asked: " vo=" + o.env.VO + " extra=" + strings.Join(o.env.Extra, ",")}
	if a.now == nil {
		a.now = time.Now
	}
	return a, nil
}

// Name implements Source.
func (a *Archery) Name() string { return a.url }

// CacheKey implements Keyed.
func (a *Archery) CacheKey() string { return a.url + a.asked }

// Resources implements Source. Endpoints that do not answer leave their
// resources out; the error then says which.
func (a *Archery) Resources(ctx context.Context) ([]glue.Resource, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	w := newWalk(ctx, a)
	w.visit(a.start, w.root, 0)
	found, errs, asked := w.wait()
	if asked == 0 && len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", a.url, contextError(ctx, firstOf(errs)))
	}
	return glue.Merge(a.now(), found...), partial(errs, asked)
}

// partial sums up what failed.
func partial(errs []error, of int) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d endpoints failed: %w", len(errs), of, firstOf(errs))
}

// firstOf joins three errors in full and counts the others.
func firstOf(errs []error) error {
	shown := errs[:min(3, len(errs))]
	err := errors.Join(shown...)
	if more := len(errs) - len(shown); more > 0 {
		err = fmt.Errorf("%w\nand %d more", err, more)
	}
	return err
}

// archeryRecord is a record that leads somewhere we can go.
type archeryRecord struct {
	target   string // DNS name of a registry, or URL of a source
	registry bool
}

// parseArchery reads "u=URL t=TYPE [s=STATUS]". Records of objects (o=),
// inactive endpoints (s= other than 1) and types we cannot ask are left out.
func parseArchery(text string) (rec archeryRecord, ok bool) {
	var u, kind string
	for field := range strings.FieldsSeq(strings.Trim(text, "\" \t\n")) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "u":
			u = value
		case "t":
			kind = value
		case "s":
			if value != "1" {
				return rec, false
			}
		}
	}
	if name, isDNS := strings.CutPrefix(u, "dns://"); isDNS {
		name = strings.Trim(name, "/.")
		return archeryRecord{name, true}, name != ""
	}
	switch {
	case u == "":
		return rec, false
	case kind == "org.nordugrid.archery" && !strings.Contains(u, "://"):
		return archeryRecord{"_archery." + u, true}, true
	case kind == "org.nordugrid.arcrest":
		return archeryRecord{restBase(u), false}, strings.HasPrefix(u, "https://")
	case kind == "org.nordugrid.ldapglue2", kind == "org.nordugrid.ldapng", kind == "org.nordugrid.ldapglue1", strings.HasSuffix(kind, "bdii"),
		strings.Contains(strings.ToLower(kind), "bdii_"):
		return archeryRecord{u, false}, strings.HasPrefix(u, "ldap://") || strings.HasPrefix(u, "ldaps://")
	}
	return rec, false
}

// restBase takes "/rest/1.0" and the like off an endpoint's URL.
func restBase(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Path, _, _ = strings.Cut(u.Path, "/rest")
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}
