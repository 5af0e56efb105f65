package infosys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/glue"
)

// Limits on a registry.
const (
	maxRegistryDepth = 8
	maxRegistries    = 1000
	maxEndpoints     = 5000
	registryFanOut   = 32 // questions under way at once
)

// Archery is a Source that reads an ARCHERY registry (the ARC Hierarchical
// Endpoints Registry: TXT records in DNS) and asks the endpoints it finds.
type Archery struct {
	url    string
	start  string // name to ask first
	open   func(rawURL string) (Source, error)
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
	a := &Archery{url: rawURL, start: "_archery." + domain, open: o.Open, lookup: r.LookupTXT, now: o.env.Now,
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
	urls, err := a.endpoints(ctx)
	if err != nil && len(urls) == 0 {
		return nil, fmt.Errorf("%s: %w", a.url, contextError(ctx, err))
	}
	all, errs := fanOut(urls, func(u string) ([]glue.Resource, error) { return a.ask(ctx, u) })
	if err != nil {
		errs = slices.Insert(errs, 0, err)
	}
	return glue.Merge(a.now(), all), partial(errs, len(urls))
}

func (a *Archery) ask(ctx context.Context, u string) ([]glue.Resource, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	src, err := a.open(u)
	if err != nil {
		return nil, err
	}
	return src.Resources(ctx)
}

// partial sums up what failed; three in full.
func partial(errs []error, of int) error {
	if len(errs) == 0 {
		return nil
	}
	shown := errs[:min(3, len(errs))]
	err := fmt.Errorf("%d of %d endpoints failed: %w", len(errs), of, errors.Join(shown...))
	if more := len(errs) - len(shown); more > 0 {
		err = fmt.Errorf("%w\nand %d more", err, more)
	}
	return err
}

// endpoints walks the registry, level by level.
func (a *Archery) endpoints(ctx context.Context) ([]string, error) {
	var urls []string
	var errs []error
	seen := map[string]bool{strings.ToLower(a.start): true}
	level := []string{a.start}
	for depth := 0; len(level) > 0; depth++ {
		if depth == maxRegistryDepth {
			errs = append(errs, fmt.Errorf("registries nested deeper than %d: %s left out", depth, level[0]))
			break
		}
		answers, failed := a.readLevel(ctx, level)
		errs = append(errs, failed...)
		level = nil
		for _, rec := range answers {
			key := strings.ToLower(rec.target)
			if seen[key] {
				continue
			}
			seen[key] = true
			if rec.registry {
				level = append(level, rec.target)
			} else {
				urls = append(urls, rec.target)
			}
		}
		if len(seen) > maxRegistries+maxEndpoints {
			return urls, fmt.Errorf("registry of more than %d records", maxRegistries+maxEndpoints)
		}
	}
	return urls, errors.Join(errs...)
}

// readLevel reads the records of one level's names.
func (a *Archery) readLevel(ctx context.Context, names []string) (out []archeryRecord, errs []error) {
	return fanOut(names, func(name string) (records []archeryRecord, err error) {
		texts, err := a.lookup(ctx, name)
		for _, text := range texts {
			if rec, ok := parseArchery(text); ok {
				records = append(records, rec)
			}
		}
		return records, err
	})
}

// fanOut asks about all names, so many at once, and puts together what is said.
func fanOut[T any](names []string, ask func(name string) ([]T, error)) (all []T, errs []error) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(registryFanOut)
	for _, name := range names {
		g.Go(func() error {
			some, err := ask(name)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, some...)
			if err != nil {
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return all, errs
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
