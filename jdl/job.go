package jdl

import "time"

// Job is the typed view of one job's description: defaults filled in, rules
// checked. It is what the rest of the program works with; the Ad stays at
// hand for expressions.
type Job struct {
	Ad   *Ad
	File string // where the text came from, for messages
	Name string // JobName, else the base name of Executable; never empty

	Executable  string
	Args        []string // Arguments, split by the gLite quoting rules
	StdInput    string
	StdOutput   string
	StdError    string
	Environment []EnvVar

	InputSandbox  []InputFile
	OutputSandbox []OutputFile
	InputData     []string

	VO            string // VirtualOrganisation; "" when the credential decides
	Requirements  Expr   // the whole expression to evaluate; never nil
	Rank          Expr   // nil: no Rank given by the user
	DefaultRank   Expr   // gLite's default; used by policy "jdl" where Rank is nil
	FuzzyRank     bool
	FuzzyFactor   float64 // 1 unless given
	SubmitTo      string  // a CE id: no matching
	RetryCount    int     // deep resubmissions
	ShallowRetry  int     // -1: off
	Expiry        time.Time
	Significant   []string // SignificantAttributes
	Perusal       bool
	Prologue      string
	PrologueArgs  []string
	Epilogue      string
	EpilogueArgs  []string
	AllowZipped   bool
	MyProxyServer string
	Tags          []EnvVar // UserTags

	Demand   Demand
	Warnings []*Diagnostic
}

// EnvVar is one NAME=value.
type EnvVar struct{ Name, Value string }

// InputFile is one file of the input sandbox. Source is an absolute path on
// this machine or a URL; Name is its plain name in the job's directory.
type InputFile struct {
	Source, Name string
	Executable   bool
}

// IsURL reports whether the file is fetched from a URL by the site.
func (f InputFile) IsURL() bool { return isURL(f.Source) }

// OutputFile is one file of the output sandbox: a plain relative name, and
// the URL it is to be sent to, or "" when the user fetches it.
type OutputFile struct {
	Name, DestURL string
}

// Demand is what the job asks of a resource, from its own attributes
// (CPUNumber, WallTime ...) and from the top-level conjuncts of Requirements
// whose meaning is sure. Zero values mean "not asked for".
type Demand struct {
	WallTime, CPUTime   time.Duration
	Memory              int64 // MB, of main memory
	VirtualMemory       int64 // MB
	Disk                int64 // MB
	Slots               int   // CPUNumber; 1 when not given
	Nodes               int   // HostNumber
	SlotsPerNode        int   // SMPGranularity
	WholeNodes          bool
	RuntimeEnvironments []string // tags every one of which is needed
	Queue               string
	GPUs                int
}
