package scheduler

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// Config is what the operator decides. Zero values stand for the defaults.
type Config struct {
	Name        string        // of this replica
	Cycle       time.Duration // between planning cycles; default 5 s
	Grace       time.Duration // a job may be as late in its slot; default 60 s
	TokenGrace  time.Duration // for how long after the end of its owner's last token, and of its groups, a job may be begun; default 0
	Horizon     time.Duration // how far ahead slots are looked at; default 6 h
	MaxBypass   int           // default 1000
	Budget      float64       // given to a user at the first submission; default 1000
	Free        bool          // budgets are kept but do not count
	Planner     string        // lookahead (default) or pairwise
	StatusEvery time.Duration // between looks at jobs at their sites; default 5 s
	MaxSandbox  int64         // bytes of small input files of one job; default 1 MiB
	MaxOutput   int64         // bytes brought of one job's output; default 16 MiB
	MaxDisk     int64         // bytes kept of one user; default 256 MiB
	KeepOutput  time.Duration // after the end; default 7 days
	KeepAtSites time.Duration // for how long sites keep a job whose output was brought; default 0
	Spool       string        // directory for files on their way
	Clusters    map[string]ClusterConfig
	Admins      []string  // subjects that are administrators
	MaxJobs     int       // not ended, of one user; default 100,000
	NoHistory   bool      // neither what the charts show of the past nor what the log tells of jobs is kept
	Chance      io.Reader // tells ids of one millisecond apart; nil: the system's; a simulation has one of its own
	// Stopwatch is by what it is measured how long judging requirements takes; nil: the system's. In a simulation, where it
	// must not matter how busy the machine is, nothing takes time.
	Stopwatch func() time.Time
	// Sure is the least chance, 0 to 1, of a slot that is booked for a job that was
	// submitted less than Patience ago; default 0, and 10 min.
	Sure     float64
	Patience time.Duration
	// Alike are digests of what all replicas of one database must be told alike, by the names of the settings; nil: nothing is compared.
	Alike map[string]string
}

// ClusterConfig is a site that may take part. Where its jobs are sent is said
// here and not by the agent: an agent cannot point the scheduler elsewhere.
type ClusterConfig struct {
	Agents    []string // subjects that may speak for it
	Interface string   // glue.Interface...
	Endpoint  string
	Queue     string
	AtOnce    bool // what is sent there begins when it can: it is told no time
}

// way is how guests get their slots at a site: where jobs cannot be told when to begin they are sent just in time.
func (c ClusterConfig) way(site *wire.Site) wire.Way {
	if c.AtOnce && (site.Start == wire.Begin || site.Start == wire.Partition) {
		return wire.Plain
	}
	return site.Start
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	bytes := func(n *int64, def int64) {
		if *n <= 0 {
			*n = def
		}
	}
	set(&c.Cycle, 5*time.Second)
	set(&c.Grace, time.Minute)
	set(&c.Horizon, 6*time.Hour)
	set(&c.StatusEvery, 5*time.Second)
	set(&c.KeepOutput, 7*24*time.Hour)
	set(&c.Patience, 10*time.Minute)
	bytes(&c.MaxSandbox, 1<<20)
	bytes(&c.MaxOutput, 16<<20)
	bytes(&c.MaxDisk, 256<<20)
	if c.MaxBypass <= 0 {
		c.MaxBypass = 1000
	}
	if c.Budget <= 0 {
		c.Budget = 1000
	}
	if c.MaxJobs <= 0 {
		c.MaxJobs = 100_000
	}
	return c
}

func (c Config) planner() plan.Planner {
	if c.Planner == (plan.Pairwise{}).Name() {
		return plan.Pairwise{}
	}
	return plan.Lookahead{}
}

// Backends opens the back-ends as a user: with his delegated credential where
// there is one. The function returned gives them back.
type Backends func(ctx context.Context, owner string, credential []byte) (*plugins.Registry, func(), error)

// Scheduler is one replica.
type Scheduler struct {
	conf  Config
	store *Store
	open  Backends
	now   func() time.Time
	log   *slog.Logger
	meter *Metrics
	hub   *hub
	clock timepiece

	readings readings
	entrance entrance
	lanes    lanes
	comeback comeback
	shown    showings // to this replica
	unwell   troubles // of the database, as actions found them

	inventories inventories
	admissions  admissions

	wake    chan struct{}
	stirred chan string // clusters at which jobs have begun or ended
	mu      sync.Mutex
	mem     *memory // of the leader; nil: to be read from the database
	lead    int64   // epoch while this replica leads; 0: it does not

	asking sync.Mutex
	seen   *picture // what the last question about a job was answered with
}

// New makes a replica. The store is migrated already.
func New(conf Config, store *Store, open Backends, now func() time.Time, log *slog.Logger) *Scheduler {
	return &Scheduler{conf: conf.withDefaults(), store: store, open: open, now: now, log: log, meter: newMetrics(), hub: newHub(), clock: timepiece{every: clockEvery}, wake: make(chan struct{}, 1), stirred: make(chan string, 1000), entrance: entrance{turn: make(chan struct{}, 1), kept: map[string]held{}}}
}
