package plugins

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
)

// Backend describes a back-end whole. The list in plugins/all is made of these,
// and nothing else in the program knows a back-end's name.
type Backend struct {
	Name string
	// Schemes are those of the URLs of its sources and endpoints.
	Schemes []string
	// URLs are the forms of these URLs, for help texts: "slurm+ssh://user@host".
	URLs []string
	// Interfaces are the names (glue.Interface...) of what it submits to.
	Interfaces []string
	// ReadOnly: its resources are shown and ranked, but take no jobs; Submit
	// refuses them.
	ReadOnly bool
	// Queues: the nodes and jobs of its endpoints can be read, its Submitter is a QueueOpener.
	Queues bool
	// Begins: what it submits waits for the begin of its Booking. At others jobs begin when they can.
	Begins bool
	// Moves tells whether its endpoints fetch input files from URLs of a scheme, in lower case, or (out) send output files
	// there. Nil: what their sites are able to, which nobody knows before.
	Moves func(scheme string, out bool) bool
	// Foreign are those of its Interfaces that other sources than its own may
	// name, each with the schemes of the URLs that may be named so. What runs
	// commands or touches files on the user's side is never among them.
	Foreign map[string][]string
	// Table is the name of its own table in the configuration file; "": none.
	Table string
	// Open opens it. No connection is made before the first request.
	Open func(Config) (Submitter, error)
	// Helpers are processes that the program starts of itself, by the name
	// of a hidden verb and one directory.
	Helpers map[string]func(ctx context.Context, c Config, dir string) error
	// Warm makes ready for a connection that is likely to follow; may be nil.
	Warm func()
}

// Config is what back-ends take from outside.
type Config struct {
	Environ  []string // of the caller
	Home     string   // the user's home directory
	StateDir string   // where things are kept from command to command
	Exe      string   // path of this program, to start helpers with
	Now      func() time.Time
	// Credentials finds the user's credentials, anew at every call.
	Credentials func() (*credential.Set, error)
	// DelegationLife is for how long credentials are delegated at most, by what
	// holds at the time; nil or 0: what the back-end deems right where nobody may
	// renew them.
	DelegationLife func() time.Duration
	// Settings decodes the back-end's own table of the configuration file
	// into a pointer; without a table nothing is changed.
	Settings func(table string, into any) error
}

// Source publishes resources, as infosys.Source does.
type Source interface {
	Name() string
	Resources(ctx context.Context) ([]glue.Resource, error)
}

// SourceOpener is a back-end whose endpoints describe themselves.
type SourceOpener interface {
	Source(u *url.URL) (Source, error)
}

// QueueOpener is a back-end that reads the nodes and jobs of its endpoints.
type QueueOpener interface {
	QueueReader(rawURL string) (QueueReader, error)
}

// Opened is a back-end at work: its Submitter, and by assertion what else it
// can do (Finder, Fetcher, Pinger, Forecaster, SourceOpener ...).
type Opened struct {
	Backend
	Submitter Submitter
}

// Open opens back-ends. Where one fails, those before it are closed.
func Open(list []Backend, c Config) (*Registry, error) {
	var opened []Opened
	for _, b := range list {
		s, err := b.Open(c)
		if err != nil {
			r := &Registry{all: opened}
			return nil, errors.Join(fmt.Errorf("%s: %w", b.Name, err), r.Close())
		}
		opened = append(opened, Opened{Backend: b, Submitter: s})
	}
	return NewRegistry(opened...)
}
