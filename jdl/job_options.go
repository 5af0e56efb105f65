package jdl

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gridbroker/jdl/classad"
)

// What the gLite client was shipped with fills in what a job does not say.
const (
	gliteRequirements = `other.GlueCEStateStatus == "Production"` // joined to the user's with &&
	gliteRank         = `-other.GlueCEStateEstimatedResponseTime` // kept as DefaultRank
	gliteRetries      = 3
)

// maxJobs is how many jobs one description may make.
const maxJobs = 100_000

// Option changes how jobs are read.
type Option func(*jobConfig)

// jobConfig is what the options set.
type jobConfig struct {
	dialect Dialect
	root    fs.FS  // the file system, from its root
	dir     string // absolute; "": the directory of the file
	here    string // absolute; where the user is; "": not known
	now     func() time.Time
	getenv  func(string) string // nil: there is no environment
	noFiles bool
	foreign bool                     // the record is made of another language, which no shell reads
	node    bool                     // the record is a node's
	later   bool                     // input files need not be here yet
	left    func(name string) string // how a file of that name is taken from another node of the DAG; ""; nil: it is none of one
	stored  bool                     // the text is Job.Text's: nothing to fill in, no files to look at
	tally   *tally
}

// tally is of a record and of those that are made of it.
type tally struct {
	unknown  int // attributes that are none of ours
	warnings int
	unix     map[string]bool         // programs that were seen to have no line breaks of DOS
	fixed    map[string]classad.Expr // expressions made here, by their texts: the same for all jobs
}

func newTally() *tally { return &tally{unix: map[string]bool{}} }

func newJobConfig(opts []Option) jobConfig {
	c := jobConfig{root: os.DirFS("/"), now: time.Now}
	for _, o := range opts {
		o(&c)
	}
	return c
}

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

// WithEnvironment is where HTCondor's $ENV and getenv find variables.
func WithEnvironment(getenv func(string) string) Option {
	return func(c *jobConfig) { c.getenv = getenv }
}

// WithClock replaces time.Now, against which ExpiryTime is judged.
func WithClock(now func() time.Time) Option { return func(c *jobConfig) { c.now = now } }

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
