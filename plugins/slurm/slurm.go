package slurm

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Options is what the back-end takes from outside.
type Options = remote.Options

// Backend is the Slurm back-end. It keeps one connection per host for as long
// as it lives.
type Backend struct {
	*remote.Sites[*site]
	opts Options
}

var (
	_ plugins.Submitter   = (*Backend)(nil)
	_ plugins.Finder      = (*Backend)(nil)
	_ plugins.Fetcher     = (*Backend)(nil)
	_ plugins.Lister      = (*Backend)(nil)
	_ plugins.Cleaner     = (*Backend)(nil)
	_ plugins.Logger      = (*Backend)(nil)
	_ plugins.Peeker      = (*Backend)(nil)
	_ plugins.Pinger      = (*Backend)(nil)
	_ plugins.Inventory   = (*Backend)(nil)
	_ plugins.QueueReader = (*Queue)(nil)
	_ remote.LRMS         = (*site)(nil)
)

// New makes the back-end. Nothing is dialled until it is needed.
func New(opts Options) *Backend {
	b := &Backend{opts: opts.Defaults()}
	b.Sites = remote.NewSites(idBytes, b.open)
	return b
}

// site is one cluster as one user reaches it.
type site struct {
	*remote.Site
	extra []string // options of sbatch that the URL gives
	who   account

	mu       sync.Mutex
	acctDown time.Time // accounting did not answer: not asked again before
	acctOff  bool      // the cluster keeps no accounting

	arrays map[string][]string // the jobs of arrays that the last sweep met, by their names
}

//go:embed send.sh
var sendText string

//go:embed job.sh
var jobText string

var system = remote.System{
	Name: "Slurm", Interface: glue.InterfaceSlurm, Send: sendText, Job: jobText, Work: "work",
	KeptEnv: []string{"SLURM_CONF", "SLURM_CLUSTERS", "MODULEPATH", "MODULESHOME"},
}

// submitOptions are the names a URL's query may give, each an option of sbatch.
var submitOptions = map[string]bool{"account": true, "qos": true, "reservation": true}

// parseURL reads slurm:[/dir][?...] or
// slurm+ssh://[user@]host[:port][/dir][?ssh=external&account=A&qos=Q&reservation=R&launcher=F&node=F&cache=URL].
func parseURL(raw string) (t remote.Target, extra []string, err error) {
	t, q, err := remote.ParseURL(raw, "slurm")
	if err != nil {
		return t, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v := q[name][len(q[name])-1]
		if !submitOptions[name] || !remote.Plain(v) || v[0] == '-' {
			return t, nil, fmt.Errorf("%s=%s: no such option of a Slurm URL (ssh=external, launcher, node, cache, account, qos, reservation)", name, v)
		}
		extra = append(extra, "--"+name+"="+v)
	}
	return t, extra, nil
}

// open makes the site of a URL.
func (b *Backend) open(raw string) (*site, error) {
	t, extra, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	at, err := remote.Open(&b.opts, &system, raw, t)
	if err != nil {
		return nil, err
	}
	return &site{Site: at, extra: extra}, nil
}

// handle names a job: Slurm's id (12 or 12_3), a slash, and our id, which
// names its directory.
func (s *site) handle(slurmID, id string) plugins.Handle {
	return plugins.Handle{Interface: glue.InterfaceSlurm, Endpoint: s.URL, ID: slurmID + "/" + id}
}

// idBytes are those of Slurm's ids.
const idBytes = "0123456789_"

// Queue reads the whole queue of one site.
type Queue struct {
	site   *site
	hidden hidden
	set    atomic.Pointer[set]             // nil: not known
	barred atomic.Pointer[map[string]bool] // partitions that let none of the account's jobs in; nil: not known
	parts  parts
	more   details
}

// set is what a cluster's configuration says of how jobs ask.
type set struct {
	cores     bool    // jobs are given whole cores
	memory    float64 // that goes with each processor of jobs that do not say, in MB
	partition float64 // how much the factor of its partition weighs in a job's priority
	accounts  bool    // jobs start only in partitions that let their accounts in
	caps      *caps   // nil: none are kept to, or none are told
	hides     bool    // jobs of others are not shown
	spreads   bool    // nodes with the most room are for the next job, in all partitions
}

// QueueReader opens a URL as a reader of the cluster's nodes and jobs.
func (b *Backend) QueueReader(raw string) (plugins.QueueReader, error) {
	s, err := b.At(raw)
	if err != nil {
		return nil, err
	}
	return &Queue{site: s}, nil
}

// Queue implements plugins.QueueReader. Where Rules has found that jobs are
// hidden, what their nodes have given away to them is held by jobs of nobody's.
func (q *Queue) Queue(ctx context.Context) (batch.State, error) {
	c, err := q.site.read(ctx)
	if err != nil {
		return batch.State{}, err
	}
	if told := q.set.Load(); told != nil {
		c.set = *told
	}
	q.more.learn(ctx, q.site, &c)
	s := c.state(q.site.Options.Now(), q.site.URL)
	if c.set.cores {
		c.widen(s.Jobs, c.set.memory)
	}
	if barred := q.barred.Load(); barred != nil {
		for i := range s.Queues {
			s.Queues[i].Barred = (*barred)[s.Queues[i].Name]
		}
	}
	q.parts.learn(ctx, q.site, s.Jobs, c.nodes)
	q.hidden.fill(&s, c.nodes)
	return s, nil
}
