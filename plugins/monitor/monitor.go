package monitor

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
)

// Options is what every kind of monitor takes.
type Options struct {
	Ask *ask.Client
	Now func() time.Time
}

// report is one complaint about a host.
type report struct {
	host string
	plugins.Trouble
}

// monitor is one monitoring system.
type monitor struct {
	name  string // its URL without query
	read  func(ctx context.Context) ([]report, error)
	guard ask.Breaker // of readers that are not HTTP
}

// kinds lists the schemes of monitor URLs.
var kinds = map[string]func(u *url.URL, opts Options) (func(ctx context.Context) ([]report, error), error){
	"nagios":           openStatusFile,
	"nagios+http":      openStatusJSON,
	"nagios+https":     openStatusJSON,
	"ganglia":          openGanglia,
	"prometheus+http":  openPrometheus,
	"prometheus+https": openPrometheus,
}

// Open makes a monitor from its URL:
//
//	nagios:/var/cache/nagios4/status.dat     Nagios or Icinga 1, on this machine
//	nagios+https://host/nagios4/cgi-bin/statusjson.cgi
//	ganglia://host[:8651]                    the XML port of gmetad (or 8649 of gmond)
//	prometheus+http://host:9090              firing alerts, or ?critical=EXPR&warning=EXPR
//
// Nagios takes ?critical=PATTERN: services of these names forbid a resource
// when they are critical; others only warn. Ganglia takes ?silent=SECONDS,
// after which a host without news is down (default: four times its TMAX).
func Open(raw string, opts Options) (plugins.Monitor, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	open := kinds[u.Scheme]
	if open == nil {
		return nil, fmt.Errorf("%s: no such kind of monitor (nagios:, nagios+http:, nagios+https:, ganglia:, prometheus+http:, prometheus+https:)", raw)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Ask == nil {
		opts.Ask = &ask.Client{}
	}
	read, err := open(u, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	m := &monitor{name: (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String(), read: read}
	if u.Scheme == "ganglia" {
		m.guard = opts.Ask.Breaker
	}
	return m, nil
}

// Name implements plugins.Monitor.
func (m *monitor) Name() string { return m.name }

// Troubles implements plugins.Monitor.
func (m *monitor) Troubles(ctx context.Context, rs []*glue.Resource) (map[string]plugins.Trouble, error) {
	if m.guard != nil {
		if err := m.guard.Open(m.name); err != nil {
			return nil, fmt.Errorf("%s: not asked: %w", m.name, err)
		}
	}
	reports, err := m.read(ctx)
	if m.guard != nil && ctx.Err() == nil {
		m.guard.Done(m.name, err)
	}
	if err != nil {
		return nil, err
	}
	byHost := map[string]plugins.Trouble{}
	for _, r := range reports {
		host := short(r.host)
		if have, ok := byHost[host]; !ok || r.Critical && !have.Critical {
			byHost[host] = r.Trouble
		}
	}
	found := map[string]plugins.Trouble{}
	for _, r := range rs {
		if t, ok := lookup(byHost, reports, r.CE); ok {
			found[r.ID] = t
		}
	}
	return found, nil
}

// lookup finds the worst complaint about a host. Monitoring systems call a
// host by its full name or by the first label: the full names must agree where
// both have one.
func lookup(byHost map[string]plugins.Trouble, reports []report, ce string) (plugins.Trouble, bool) {
	if _, ok := byHost[short(ce)]; !ok || ce == "" {
		return plugins.Trouble{}, false
	}
	var worst plugins.Trouble
	found := false
	for _, r := range reports {
		if sameHost(r.host, ce) && (!found || r.Critical && !worst.Critical) {
			worst, found = r.Trouble, true
		}
	}
	return worst, found
}

// sameHost compares host names, of which one may be without a domain.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b {
		return true
	}
	return short(a) == short(b) && (!strings.Contains(a, ".") || !strings.Contains(b, "."))
}

// short is a host's first label; an address stays whole.
func short(host string) string {
	host = strings.ToLower(host)
	label, _, _ := strings.Cut(host, ".")
	if strings.Trim(label, "0123456789") == "" {
		return host
	}
	return label
}

// pattern checks a glob of the URL's query.
func pattern(q url.Values, name string) (string, error) {
	p := q.Get(name)
	if _, err := path.Match(p, ""); err != nil {
		return "", fmt.Errorf("%s=%s: %w", name, p, err)
	}
	return p, nil
}

// onlyParams refuses query parameters that mean nothing.
func onlyParams(q url.Values, names ...string) error {
	for name := range q {
		known := false
		for _, n := range names {
			known = known || n == name
		}
		if !known {
			return fmt.Errorf("no such parameter: %s", name)
		}
	}
	return nil
}
