package jdl

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gridbroker/jdl/classad"
)

// Defaults fill in what a job does not say.
type Defaults struct {
	Requirements string // joined to the user's with &&; "" for none
	Rank         string // kept as DefaultRank
	VO           string // VirtualOrganisation
	RetryCount   int
	ShallowRetry int
	Lifetime     time.Duration // of a job without ExpiryTime; 0: no expiry
}

// gliteDefaults are the ones the gLite client was shipped with.
func gliteDefaults() Defaults {
	return Defaults{
		Requirements: `other.GlueCEStateStatus == "Production"`,
		Rank:         `-other.GlueCEStateEstimatedResponseTime`,
		RetryCount:   3,
	}
}

// Option changes how jobs are read.
type Option func(*jobConfig)

// jobConfig is what the options set.
type jobConfig struct {
	limits   classad.Limits
	dialect  Dialect
	root     fs.FS  // the file system, from its root
	dir      string // absolute; "": the directory of the file
	here     string // absolute; where the user is; "": not known
	defaults Defaults
	now      func() time.Time
	maxJobs  int
	noFiles  bool
	foreign  bool // the record is made of another language, which no shell reads
	stored   bool // the text is Job.Text's: nothing to fill in, no files to look at
}

func newJobConfig(opts []Option) jobConfig {
	c := jobConfig{limits: classad.DefaultLimits(), root: os.DirFS("/"), defaults: gliteDefaults(), now: time.Now, maxJobs: 100000}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// WithLimits bounds what a text may make the parser do, instead of
// classad.DefaultLimits.
func WithLimits(l classad.Limits) Option { return func(c *jobConfig) { c.limits = l } }

// WithDialect says which dialect the text is, instead of judging by its
// attributes.
func WithDialect(d Dialect) Option { return func(c *jobConfig) { c.dialect = d } }

// WithRoot takes sandbox files and the File attribute of nodes from root,
// which stands for "/", instead of from this machine's file system.
func WithRoot(root fs.FS) Option { return func(c *jobConfig) { c.root = root } }

// WithoutFiles does not look at sandbox files: they need not exist, and
// patterns stay as they are.
func WithoutFiles() Option { return func(c *jobConfig) { c.noFiles = true } }

// WithDir makes relative sandbox names start from dir instead of from the
// directory of the job's file.
func WithDir(dir string) Option { return func(c *jobConfig) { c.dir = dir } }

// WithFallbackDir looks for an input file that is not where relative names
// start in dir, the directory the user is in, too; finding it there is a
// warning. dir is absolute.
func WithFallbackDir(dir string) Option { return func(c *jobConfig) { c.here = dir } }

// WithDefaults replaces gliteDefaults.
func WithDefaults(d Defaults) Option { return func(c *jobConfig) { c.defaults = d } }

// WithClock replaces time.Now, against which ExpiryTime is judged.
func WithClock(now func() time.Time) Option { return func(c *jobConfig) { c.now = now } }

// WithMaxJobs limits how many jobs a parametric description may make; the
// limit is 100,000 otherwise.
func WithMaxJobs(n int) Option { return func(c *jobConfig) { c.maxJobs = n } }

// baseDir is the absolute directory that relative names of a file start from.
func (c *jobConfig) baseDir(file string) string {
	dir := c.dir
	if dir == "" && file != "" && file != "-" {
		dir = filepath.Dir(file)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return "/"
}
