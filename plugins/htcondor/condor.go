package htcondor

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Options is what the back-end takes from outside.
type Options struct {
	remote.Options
	// Credentials finds the user's credentials, anew at every call, for
	// schedds over the network; nil: HTCondor's tools look for themselves.
	Credentials func() (*credential.Set, error)
}

// Backend is the HTCondor back-end. It keeps one connection per host for as
// long as it lives.
type Backend struct {
	*remote.Sites[*site]
	opts Options
}

var (
	_ plugins.Submitter    = (*Backend)(nil)
	_ plugins.Finder       = (*Backend)(nil)
	_ plugins.Fetcher      = (*Backend)(nil)
	_ plugins.Lister       = (*Backend)(nil)
	_ plugins.Cleaner      = (*Backend)(nil)
	_ plugins.Logger       = (*Backend)(nil)
	_ plugins.Peeker       = (*Backend)(nil)
	_ plugins.Pinger       = (*Backend)(nil)
	_ plugins.SourceOpener = (*Backend)(nil)
	_ plugins.QueueOpener  = (*Backend)(nil)
	_ remote.LRMS          = (*site)(nil)
)

// New makes the back-end. Nothing is dialled until it is needed.
func New(opts Options) *Backend {
	opts.Options = opts.Defaults()
	b := &Backend{opts: opts}
	b.Sites = remote.NewSites(idBytes, b.open)
	return b
}

// Open opens the back-end with what the program's configuration says.
func Open(c plugins.Config) (plugins.Submitter, error) {
	return New(Options{Options: remote.Options{Environ: c.Environ, Home: c.Home, Now: c.Now}, Credentials: c.Credentials}), nil
}

//go:embed send.sh
var sendText string

//go:embed job.sh
var jobText string

// kept are the names of the caller's environment that HTCondor's tools may see
// here. None of it reaches jobs: HTCondor gives them nothing of it.
var kept = []string{"CONDOR_CONFIG", "_CONDOR_*", "_condor_*"}

var system = remote.System{Name: "HTCondor", Interface: glue.InterfaceCondor, Send: sendText, Job: jobText, Work: "out/work", KeptEnv: kept}

// networkSystem is the same with the places where the tools look for a token.
var networkSystem = remote.System{Name: "HTCondor", Interface: glue.InterfaceHTCondorCE, Send: sendText, Job: jobText, Work: "out/work",
	KeptEnv: append([]string{"BEARER_TOKEN", "BEARER_TOKEN_FILE", "XDG_RUNTIME_DIR", "X509_CERT_DIR"}, kept...)}

// site is one schedd as one user reaches it.
type site struct {
	*remote.Site
	network bool
	foreign bool     // named by a BDII, not by the user
	name    []string // -name SCHEDD
	pool    []string // -pool HOST:PORT
	account string   // accounting group
	ticket  *ticket  // for a schedd over the network; nil: none is needed

	mu   sync.Mutex // of name and me
	me   string     // our name as an owner of jobs; "": not asked, or not told
	seen seen
}

// address is a parsed URL.
type address struct {
	remote.Target
	network                  bool
	foreign                  bool // named by a BDII, not by the user
	schedd, pool, accounting string
}

// parseURL reads condor:[/dir], condor+ssh://[user@]host[:port][/dir] and
// condor://host:port[/dir], each with [?schedd=NAME&pool=HOST:PORT&group=G],
// and what BDIIs name: https://host:port.
func parseURL(raw string) (address, error) {
	if u, err := url.Parse(raw); err == nil && u.Host != "" && (u.Scheme == "condor" || u.Scheme == "https") {
		return networkURL(raw, u)
	}
	t, q, err := remote.ParseURL(raw, "condor")
	if err != nil {
		return address{}, err
	}
	a := address{Target: t}
	return a, a.options(q)
}

// defaultPort is the shared port of an HTCondor-CE.
const defaultPort = "9619"

func networkURL(raw string, u *url.URL) (address, error) {
	a := address{network: true}
	q := u.Query()
	if err := a.Nodes.Take(q); err != nil {
		return a, err
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = defaultPort
	}
	if u.User != nil || !remote.Plain(host) || host[0] == '-' {
		return a, fmt.Errorf("%s: want condor://host:port", raw)
	}
	a.pool = host + ":" + port
	if u.Scheme == "https" { // a BDII's: nothing else of it counts
		a.schedd, a.foreign = host, true
		return a, nil
	}
	a.Base = u.Path
	return a, a.options(q)
}

func (a *address) options(q url.Values) error {
	to := map[string]*string{"schedd": &a.schedd, "pool": &a.pool, "group": &a.accounting}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v := q[name][len(q[name])-1]
		if to[name] == nil || !remote.Plain(v) || v[0] == '-' {
			return fmt.Errorf("%s=%s: no such option of an HTCondor URL (schedd, pool, group, launcher, node, cache)", name, v)
		}
		*to[name] = v
	}
	return nil
}

// open makes the site of a URL.
func (b *Backend) open(raw string) (*site, error) {
	a, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	sys := system
	if a.network {
		sys = networkSystem
	}
	s := &site{network: a.network, foreign: a.foreign, account: a.accounting}
	if a.network && b.opts.Credentials != nil {
		s.ticket = &ticket{set: b.opts.Credentials, environ: b.opts.Environ, pool: a.pool, foreign: a.foreign, now: b.opts.Now}
		sys.Env = s.ticket.env
	}
	if s.Site, err = remote.Open(&b.opts.Options, &sys, raw, a.Target); err != nil {
		return nil, err
	}
	if a.schedd != "" {
		s.name = []string{"-name", a.schedd}
	}
	if a.pool != "" {
		s.pool = []string{"-pool", a.pool}
	}
	return s, nil
}

// scheddArgs name the schedd to a command, asking the pool for its name where
// the URL has none.
func (s *site) scheddArgs(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.name) == 0 && len(s.pool) > 0 {
		text, err := s.Command(ctx, append([]string{"condor_status", "-schedd", "-af", "Name"}, s.pool...)...)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(text, "\n")
		if !remote.Plain(name) || name[0] == '-' {
			return nil, s.Fail("condor_status", fmt.Errorf("the pool names no schedd; name it by ?schedd="))
		}
		s.name = []string{"-name", name}
	}
	return slices.Concat(s.name, s.pool), nil
}

// schedd runs a command that talks to the schedd.
func (s *site) schedd(ctx context.Context, command string, args ...string) (string, error) {
	at, err := s.scheddArgs(ctx)
	if err != nil {
		return "", err
	}
	return s.Command(ctx, slices.Concat([]string{command}, at, args)...)
}

// Handle implements remote.LRMS: CLUSTER.PROC/ID.
func (s *site) Handle(cluster string, line int, id string) plugins.Handle {
	return plugins.Handle{Interface: s.System.Interface, Endpoint: s.URL, ID: cluster + "." + strconv.Itoa(max(0, line-1)) + "/" + id}
}

// idBytes are those of HTCondor's ids of jobs, CLUSTER.PROC.
const idBytes = "0123456789."
