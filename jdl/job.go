package jdl

import (
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// Job is the typed view of one job's description: defaults filled in, rules
// checked. It is what the rest of the program works with. Ad is the same job
// as a record: defaults and combined expressions written into it, sandbox
// sources absolute; Text prints it.
type Job struct {
	Ad      *classad.Ad
	File    string // where the text came from, for messages
	Name    string // JobName, else the base name of Executable (and the node's name); never empty
	Group   string // DIRAC's JobGroup, a label of jobs that belong together; "": none
	Dialect Dialect

	Executable  string   // absolute, or the plain name of an input file; in DIRAC's dialect also a program of the PATH
	Args        []string // Arguments, split by the gLite quoting rules
	StdInput    string   // absolute, or the plain name of an input file
	StdOutput   string   // relative to the job's directory; may equal StdError
	StdError    string
	Environment []EnvVar

	InputSandbox  []InputFile
	OutputSandbox []OutputFile
	InputData     []string // logical names

	VO            string       // VirtualOrganisation; "" when the credential decides
	Requirements  classad.Expr // the whole expression to evaluate; never nil
	Rank          classad.Expr // nil: no Rank given by the user
	DefaultRank   classad.Expr // gLite's default; used by policy "jdl" where Rank is nil
	FuzzyRank     bool
	FuzzyFactor   float64 // 1 unless given
	SubmitTo      string  // a CE id: no matching
	RetryCount    int     // deep resubmissions
	ShallowRetry  int     // -1: off
	Expiry        time.Time
	Priority      float64  // among the jobs of a central scheduler; 0: not given
	Significant   []string // SignificantAttributes
	RetryOnExit   []int    // exit codes after which a job that failed by itself is sent again, within RetryCount
	RetryAnyExit  bool     // the same for every exit code but 0
	AutoOutput    bool     // the output is to be fetched as soon as the job is done
	Perusal       bool
	PerusalEvery  time.Duration // PerusalTimeInterval; 0: not given
	Prologue      string
	PrologueArgs  []string
	Epilogue      string
	EpilogueArgs  []string
	AllowZipped   bool
	MyProxyServer string
	Tags          []EnvVar // UserTags

	// Node is the job's name among the jobs of its file: the node's name in a
	// collection or DAG, the value in a parametric job; "" for a single job.
	Node  string
	After []string // names of the nodes that must be done before this one starts
	// Final is that the job comes last in its DAG: as soon as the jobs that it comes after have ended,
	// however they did.
	Final bool
	// AfterAny is that the job's turn comes when the jobs that it comes after have ended, however they did; not where none
	// of them was ever begun. Of a node without a job, a PostScript that ends with 0 makes good what failed among them.
	AfterAny bool
	// SkipAlong is that the job is done without being sent where all that it comes after were left out, by the SkipOn of a
	// PreScript or likewise.
	SkipAlong bool
	AbortOn   []int   // exit codes of this job with which its whole DAG ends (AbortDAGOn)
	Pre       *Script // runs before the job is sent; nil: none
	Post      *Script // runs when the job has ended, however it did, and tells how the node ended; nil: none
	NoJob     bool    // between Pre and Post nothing is sent
	// Category is what the job shares a limit with others of its DAG or collection by (NodeCategory): at most
	// MaxInCategory jobs of that are at computing elements at once (MaxCategoryRunning). "": none.
	Category      string
	MaxInCategory int

	Demand   Demand
	Warnings []*classad.Diagnostic

	autoName bool            // Name is not the user's
	given    map[string]bool // attributes of the user's text, folded
}

// RetriesExit reports whether the job asks to be sent again after an exit code.
func (j *Job) RetriesExit(code int) bool {
	return code != 0 && j.RetryAnyExit || slices.Contains(j.RetryOnExit, code)
}

// EnvVar is one NAME=value.
type EnvVar struct{ Name, Value string }

// InputFile is one file of the input sandbox. Source is an absolute path on
// this machine or a URL; Name is its name in the job's directory: relative,
// clean, with "/" between parts. Of a file that another node makes Source is where it
// lies once it was brought; "" before the job is recorded.
type InputFile struct {
	Source, Name string
	From         Made
	Executable   bool
	Text         string // what a file that the broker makes holds; its Source is ""
}

// Size is how many bytes of this machine the file has now; 0 where it is at a URL, a directory, or not here.
func (f InputFile) Size() int64 {
	if f.Text != "" || f.IsURL() {
		return int64(len(f.Text))
	}
	info, err := os.Stat(f.Path())
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// Path is the file's path on this machine; meaningless for what IsURL.
func (f InputFile) Path() string {
	if isFileURL(f.Source) {
		return f.Source[len(fileURL):]
	}
	return f.Source
}

// IsURL reports whether the file is fetched from a URL (or a catalogue) by
// the site. A file: URL names a file of this machine.
func (f InputFile) IsURL() bool { return isURL(f.Source) && !isFileURL(f.Source) }

// OutputFile is one file of the output sandbox: a relative name or pattern
// in the job's directory (a name that ends in "/" is a directory), the URL it is to be sent to, or "" when the
// user fetches it, and the name below the directory of the output that it is brought under then, or "" for its own.
type OutputFile struct {
	Name, DestURL, Back string
}

// IsPattern reports whether Name is a pattern in the sense of path.Match.
func (f OutputFile) IsPattern() bool { return hasMeta(f.Name) }

// Match reports whether a file of the job's directory is meant: its name, or a
// directory above it, is Name or matches it as a pattern.
func (f OutputFile) Match(name string) bool {
	want := strings.TrimSuffix(f.Name, "/")
	for dir := name; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if ok, _ := path.Match(want, dir); ok || dir == want {
			return true
		}
	}
	return false
}

// Outputs lists all that is to be brought back: the output sandbox, and the
// standard output and error where they are not in it.
func (j *Job) Outputs() []OutputFile {
	outs := j.OutputSandbox[:len(j.OutputSandbox):len(j.OutputSandbox)]
	for _, name := range []string{j.StdOutput, j.StdError} {
		if name != "" && !listsOutput(outs, name) {
			outs = append(outs, OutputFile{Name: name})
		}
	}
	return outs
}

func listsOutput(outs []OutputFile, name string) bool {
	for _, f := range outs {
		if f.Name == name {
			return true
		}
	}
	return false
}

// Demand is what the job asks of a resource, from its own attributes
// (CPUNumber, WallTime ...) and from the top-level conjuncts of Requirements
// whose meaning is sure. Zero values mean "not asked for".
type Demand struct {
	WallTime            time.Duration
	CPUTime             time.Duration // of one slot
	Memory              int64         // MB of main memory for one slot
	VirtualMemory       int64         // MB for one slot
	Disk                int64         // MB for the job
	Slots               int           // CPUNumber; 1 when not given
	Nodes               int           // HostNumber
	SlotsPerNode        int           // SMPGranularity
	WholeNodes          bool
	RuntimeEnvironments []string            // tags every one of which is needed
	RuntimeOptions      map[string][]string // of tags that are given options, as ARC has them
	Queue               string
	GPUs                int
}

// Dialect is the flavour of JDL a text is written in.
type Dialect uint8

// The dialects. Both are records; they differ in attributes, in how
// parametric jobs are counted, and in whether expressions are evaluated.
const (
	AnyDialect Dialect = iota // decide by the attributes used
	GLite
	DIRAC
)

func (d Dialect) String() string {
	switch d {
	case GLite:
		return "glite"
	case DIRAC:
		return "dirac"
	}
	return "any"
}
