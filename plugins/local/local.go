// Package local runs jobs on this machine: each in its own directory and its
// own process tree, under a supervisor that outlives the command that
// submitted it. A site has a number of slots; jobs beyond them wait in order
// of submission.
//
// On disk a site is
//
//	SITE/site.json      slots and limits
//	SITE/place          which directory SITE is: in a copy, another
//	SITE/queue.lock     held for moments, while the queue changes
//	SITE/runner.lock    held by the one runner that starts jobs
//	SITE/handed.lock    held while an external scheduler starts the jobs
//	SITE/queue/ID       a job that waits
//	SITE/held/ID        a job that waits and is held by its user
//	SITE/running/ID     a job that has been given to a supervisor
//	SITE/jobs/ID/       spec.json, status.json, lock, log, and the job's own
//	                    directory work/
//
// Two locks and the rename of a file are all the coordination there is, so
// any process may die at any moment: what it held is freed by the kernel, and
// the next runner goes on from what is on disk.
package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/environment"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Site is one named set of slots on this machine.
type Site struct {
	Name     string        `json:"name"`     // letters, digits, dot, hyphen, underscore
	Slots    int           `json:"slots"`    // jobs with one processor that run at once; 0: one per CPU
	Memory   int64         `json:"memory"`   // MB; 0: this machine's
	Tags     []string      `json:"tags"`     // runtime environments
	Speed    float64       `json:"speed"`    // relative to 1.0; 0: 1.0
	MaxWall  time.Duration `json:"max_wall"` // 0: defaultMaxWall
	Access   []string      `json:"access"`   // ACL rules (VO:name ...); empty: everybody
	Disabled bool          `json:"disabled"` // publishes itself as draining
	// Environments is a folder of definitions of runtime environments, or the settings of a node (*.json), absolute; jobs
	// that ask for one of their tags run inside. Empty: none.
	Environments string `json:"environments,omitempty"`
	// Cache is where grid cache serve listens: files that jobs read in place
	// come through it. Empty: none.
	Cache string
}

// defaultMaxWall is the limit of a site that names none. It is published and
// held to, so that jobs that ask for a wall time find a number to compare with.
const defaultMaxWall = 365 * 24 * time.Hour

// Options configure the back-end.
type Options struct {
	Dir   string // where the sites' directories are; made when missing
	Sites []Site
	// Helper is the command line that the names of the two helper verbs
	// (RunnerVerb, SupervisorVerb) and a directory are appended to:
	// normally this very program.
	Helper []string
	Now    func() time.Time
	// Launcher is the path of grid-launch, which runs jobs in environments; empty: sites with environments are refused.
	Launcher string
	// EnvironmentCache is the folder of unpacked images.
	EnvironmentCache string
	CPUs             int   // slots of a site that names none
	Memory           int64 // MB of a site that names none
}

// The hidden verbs of the program that call RunSite and RunJob.
const (
	RunnerVerb     = "local-runner"
	SupervisorVerb = "local-job"
)

// Backend is the plugins.Submitter for this machine.
type Backend struct {
	opts  Options
	sites map[string]*site
}

var (
	_ plugins.Submitter = (*Backend)(nil)
	_ plugins.Finder    = (*Backend)(nil)
	_ plugins.Fetcher   = (*Backend)(nil)
	_ plugins.Cleaner   = (*Backend)(nil)
	_ plugins.Logger    = (*Backend)(nil)
	_ plugins.Peeker    = (*Backend)(nil)
	_ plugins.Pinger    = (*Backend)(nil)
)

var siteName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// New checks the sites. Nothing is written before the first job.
func New(opts Options) (*Backend, error) {
	b := &Backend{opts: opts, sites: map[string]*site{}}
	for _, s := range opts.Sites {
		if !siteName.MatchString(s.Name) {
			return nil, fmt.Errorf("local site %q: a name has letters, digits, '.', '-', '_'", s.Name)
		}
		if _, dup := b.sites[s.Name]; dup {
			return nil, fmt.Errorf("local site %q is configured twice", s.Name)
		}
		if s.Slots < 0 || !(s.Speed >= 0 && s.Speed <= 1e6) || s.MaxWall < 0 || s.Memory < 0 {
			return nil, fmt.Errorf("local site %q: slots, speed, memory and wall time must not be negative, nor a speed beyond 1e6", s.Name)
		}
		if err := remote.CheckCache(s.Cache); err != nil {
			return nil, fmt.Errorf("local site %q: %w", s.Name, err)
		}
		b.sites[s.Name] = &site{Site: withDefaults(s, opts), dir: filepath.Join(opts.Dir, s.Name), helper: opts.Helper, now: opts.Now}
		if err := b.sites[s.Name].openEnvironments(opts); err != nil {
			return nil, fmt.Errorf("local site %q: %w", s.Name, err)
		}
	}
	return b, nil
}

func withDefaults(s Site, opts Options) Site {
	if s.Slots == 0 {
		s.Slots = opts.CPUs
	}
	if s.Speed == 0 {
		s.Speed = 1
	}
	if s.Memory == 0 {
		s.Memory = opts.Memory
	}
	if s.MaxWall == 0 {
		s.MaxWall = defaultMaxWall
	}
	return s
}

// EndpointURL is how the endpoint of a site is written.
func EndpointURL(siteName string) string { return "local:" + siteName }

// site is one Site on disk.
type site struct {
	Site
	dir    string
	helper []string
	now    func() time.Time

	node     *environment.Node // nil: the site has no environments
	launcher string            // path of grid-launch
	read     reading
}

func (s *site) job(id string) string     { return filepath.Join(s.dir, "jobs", id) }
func (s *site) queued(id string) string  { return filepath.Join(s.dir, "queue", id) }
func (s *site) running(id string) string { return filepath.Join(s.dir, "running", id) }

func (s *site) handle(id string) plugins.Handle {
	return plugins.Handle{Interface: glue.InterfaceLocal, Endpoint: EndpointURL(s.Name), ID: id}
}

// prepare makes the site's directories and records its slots for the runner.
func (s *site) prepare() error {
	for _, sub := range []string{"jobs", "new", "queue", "held", "running"} {
		if err := durable.MkdirAll(filepath.Join(s.dir, sub), 0o700); err != nil {
			return err
		}
	}
	if err := writeNode(s); err != nil {
		return err
	}
	if err := writePlace(s); err != nil {
		return err
	}
	path := filepath.Join(s.dir, "site.json")
	var have Site
	if err := readJSON(path, &have); err == nil && reflect.DeepEqual(have, s.Site) {
		return nil
	}
	return writeJSON(path, s.Site)
}

// site finds the site of an endpoint URL; without a name it is the only one. One that is no longer configured
// but has jobs on disk is found too, so that they can be followed; it takes
// no more.
func (b *Backend) site(endpoint string) (*site, error) {
	name, _ := strings.CutPrefix(endpoint, EndpointURL(""))
	if s := b.sites[name]; s != nil {
		return s, nil
	}
	if name == "" && len(b.sites) == 1 {
		for _, only := range b.sites {
			return only, nil
		}
	}
	if siteName.MatchString(name) {
		s := &site{dir: filepath.Join(b.opts.Dir, name), helper: b.opts.Helper, now: b.opts.Now}
		if err := readJSON(filepath.Join(s.dir, "site.json"), &s.Site); err == nil {
			s.Disabled = true
			return s, nil
		}
	}
	return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "use", Endpoint: endpoint,
		Said: "no such local site", Hint: "say local:NAME; sites are named in the configuration file under [[local]]"}
}

// writeJSON replaces a file atomically; readers see the old or the new one,
// also after a power cut: it is on disk before it takes its place, and its
// place is on disk when writeJSON returns.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, text)
}

// syncAll puts everything written below the site's directory on disk, at once
// for any number of jobs where the system can.
func (s *site) syncAll() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(syncDisk(d), d.Close())
}

// damaged is a file that is there and cannot be understood: what a power cut
// or a bad disk leaves. It is the matter of one job alone.
type damaged struct {
	path string
	err  error
}

func (d *damaged) Error() string { return fmt.Sprintf("%s is damaged: %v", d.path, d.err) }
func (d *damaged) Unwrap() error { return d.err }

// maxKept bounds a file that tells of a job, in bytes: its description may have 64 MiB.
const maxKept = 512 << 20

func readJSON(path string, v any) error {
	text, err := durable.ReadFile(path, maxKept)
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return err
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil { // a pipe or a device in its place, too
		return &damaged{path, err}
	}
	return nil
}
