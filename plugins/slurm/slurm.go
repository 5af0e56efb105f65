package slurm

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Options is what the back-end takes from outside. Only Environ and Home are
// needed.
type Options struct {
	Environ   []string // of the caller; local commands see a small part of it
	Home      string   // home directory: ~/.ssh, and the jobs of "slurm:"
	Now       func() time.Time
	SSHConfig string        // default ~/.ssh/config
	Command   time.Duration // deadline of one short command; default 30 s
	Dial      time.Duration // deadline of a connection; default 15 s
}

// Backend is the Slurm back-end. It keeps one connection per host for as long
// as it lives.
type Backend struct {
	opts  Options
	mu    sync.Mutex
	sites map[string]*site
}

var (
	_ plugins.Submitter   = (*Backend)(nil)
	_ plugins.Finder      = (*Backend)(nil)
	_ plugins.Fetcher     = (*Backend)(nil)
	_ plugins.Cleaner     = (*Backend)(nil)
	_ plugins.Logger      = (*Backend)(nil)
	_ plugins.Peeker      = (*Backend)(nil)
	_ plugins.Pinger      = (*Backend)(nil)
	_ plugins.QueueReader = (*Queue)(nil)
)

// New makes the back-end. Nothing is dialled until it is needed.
func New(opts Options) *Backend {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Command == 0 {
		opts.Command = 30 * time.Second
	}
	if opts.Dial == 0 {
		opts.Dial = 15 * time.Second
	}
	if opts.SSHConfig == "" {
		opts.SSHConfig = filepath.Join(opts.Home, ".ssh", "config")
	}
	return &Backend{opts: opts, sites: map[string]*site{}}
}

// Backend returns the registry's entry.
func (b *Backend) Backend() plugins.Backend {
	return plugins.Backend{Interfaces: []string{glue.InterfaceSlurm}, Submitter: b}
}

// Close ends all connections. Jobs are not touched.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sites {
		s.machine.close()
	}
	clear(b.sites)
	return nil
}

// site is one cluster as one user reaches it.
type site struct {
	url     string
	base    string // the directory of our jobs there
	extra   []string
	machine machine
	opts    *Options

	installing sync.Mutex
	installs   atomic.Int64 // scripts put in place so far

	mu       sync.Mutex
	acctDown time.Time // accounting did not answer: not asked again before
	acctOff  bool      // the cluster keeps no accounting
}

// defaultBase is where jobs live when the URL names no directory: below the
// home directory, which clusters share with their nodes.
const defaultBase = ".grid-jobs"

// target is a parsed URL: slurm:[/dir][?...] or
// slurm+ssh://[user@]host[:port][/dir][?ssh=external&account=A&qos=Q&reservation=R].
type target struct {
	user, host, port string // host "": this machine
	base             string
	external         bool // use the user's own ssh command
	extra            []string
}

// submitOptions are the names a URL's query may give, each an option of sbatch.
var submitOptions = map[string]bool{"account": true, "qos": true, "reservation": true}

// ParseURL checks a Slurm URL; it is used where sources are configured.
func parseURL(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, err
	}
	t := target{base: u.Path}
	switch u.Scheme {
	case "slurm":
		if u.Host != "" || u.Opaque != "" {
			return t, fmt.Errorf("%s: this machine's Slurm is slurm: or slurm:/directory; another's is slurm+ssh://host", raw)
		}
	case "slurm+ssh":
		t.user, t.host, t.port = u.User.Username(), u.Hostname(), u.Port()
		if t.host == "" || strings.HasPrefix(t.host, "-") || strings.HasPrefix(t.user, "-") {
			return t, fmt.Errorf("%s: no host; want slurm+ssh://user@host[:port][/directory]", raw)
		}
		if _, secret := u.User.Password(); secret {
			return t, fmt.Errorf("slurm+ssh://%s: passwords are not accepted; use a key or an agent", t.host)
		}
	default:
		return t, fmt.Errorf("%s: not a Slurm URL", raw)
	}
	return t, t.options(u.Query())
}

func (t *target) options(q url.Values) error {
	for name, values := range q {
		v := values[len(values)-1]
		switch {
		case name == "ssh" && (v == "external" || v == "builtin"):
			t.external = v == "external"
		case submitOptions[name] && plain(v) && v[0] != '-':
			t.extra = append(t.extra, "--"+name+"="+v)
		default:
			return fmt.Errorf("%s=%s: no such option of a Slurm URL (ssh=external, account, qos, reservation)", name, v)
		}
	}
	return nil
}

// site returns the site of a URL, made once.
func (b *Backend) site(raw string) (*site, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sites[raw]; s != nil {
		return s, nil
	}
	t, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	s := &site{url: raw, base: t.base, extra: t.extra, opts: &b.opts}
	if s.base == "" || s.base == "/" {
		s.base = defaultBase
		if t.host == "" {
			s.base = filepath.Join(b.opts.Home, defaultBase)
		}
	}
	if s.machine, err = b.machine(t); err != nil {
		return nil, err
	}
	b.sites[raw] = s
	return s, nil
}

func (b *Backend) machine(t target) (machine, error) {
	if t.host == "" {
		return here{keepEnv(b.opts.Environ)}, nil
	}
	conf, err := readSSHConfig(&b.opts, t)
	if err != nil {
		return nil, err
	}
	if t.external || conf.needsCommand() {
		return newExternal(&b.opts, t), nil
	}
	return &shell{conf: conf, opts: &b.opts}, nil
}

// handle names a job: Slurm's id (12 or 12_3), a slash, and our id, which
// names its directory.
func (s *site) handle(slurmID, id string) plugins.Handle {
	return plugins.Handle{Interface: glue.InterfaceSlurm, Endpoint: s.url, ID: slurmID + "/" + id}
}

func splitHandle(h plugins.Handle) (slurmID, id string, ok bool) {
	slurmID, id, _ = strings.Cut(h.ID, "/")
	for _, c := range []byte(slurmID) {
		if (c < '0' || c > '9') && c != '_' {
			return "", "", false
		}
	}
	return slurmID, id, slurmID != "" && validID(id)
}

func (s *site) dir(parts ...string) string {
	return path.Join(append([]string{s.base}, parts...)...)
}

// Queue reads the whole queue of one site.
type Queue struct{ site *site }

// QueueReader opens a URL as a reader of the cluster's nodes and jobs.
func (b *Backend) QueueReader(raw string) (*Queue, error) {
	s, err := b.site(raw)
	return &Queue{s}, err
}

// Queue implements plugins.QueueReader.
func (q *Queue) Queue(ctx context.Context) (batch.State, error) { return q.site.queue(ctx) }
