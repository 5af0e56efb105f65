package local

import (
	"path/filepath"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// spec is what a supervisor needs to run one job.
type spec struct {
	ID        string        `json:"id"`
	Steps     []step        `json:"steps"` // run in order until one fails
	Stdin     string        `json:"stdin"`
	Stdout    string        `json:"stdout"`
	Stderr    string        `json:"stderr"`
	Env       []string      `json:"env"`
	Outputs   []string      `json:"outputs"` // names or globs in the job's directory
	Slots     int           `json:"slots"`
	Wall      time.Duration `json:"wall"` // 0: no limit
	Submitted time.Time     `json:"submitted"`
	JDL       string        `json:"jdl,omitempty"` // the description it was made from
	// Inside is how the programs are run in an environment; nil: on the machine itself.
	Inside *inside `json:"inside,omitempty"`
	// Place is the job's directory as it was made (durable.PlaceOf): a copy of it is no job.
	Place string `json:"place,omitempty"`
}

// step is one program: prologue, executable or epilogue.
type step struct {
	Role string   `json:"role"`
	Path string   `json:"path"`
	Args []string `json:"args"`
}

// status is the job's state on disk, written by its supervisor alone once it
// has started.
type status struct {
	State   plugins.State `json:"state"`
	Exit    glue.Opt[int] `json:"exit"`
	Reason  string        `json:"reason"`
	Fault   plugins.Fault `json:"fault,omitempty"`
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended"`
	Ran     time.Duration `json:"ran,omitempty"` // by no clock that is set, and not while the machine slept
	CPU     time.Duration `json:"cpu"`
	MaxRSS  int64         `json:"max_rss"` // kB
}

func newSpec(req plugins.Request, s *site) spec {
	job := req.Job
	sp := spec{
		ID: req.ID, Stdin: job.StdInput, Stdout: job.StdOutput, Stderr: job.StdError,
		Slots: max(1, job.Demand.Slots), Wall: s.MaxWall, Submitted: s.now(), JDL: job.Text(),
	}
	if w := job.Demand.WallTime; w > 0 && (sp.Wall == 0 || w < sp.Wall) {
		sp.Wall = w
	}
	if job.Prologue != "" {
		sp.Steps = append(sp.Steps, step{"prologue", job.Prologue, job.PrologueArgs})
	}
	sp.Steps = append(sp.Steps, step{"executable", job.Executable, job.Args})
	if job.Epilogue != "" {
		sp.Steps = append(sp.Steps, step{"epilogue", job.Epilogue, job.EpilogueArgs})
	}
	for _, e := range job.Environment {
		sp.Env = append(sp.Env, e.Name+"="+remote.Streamed(s.Cache, e.Name, e.Value))
	}
	sp.Outputs = plugins.OutputNames(job)
	return sp
}

// Moves is that of this machine's sites: they bring no files from anywhere, and send none.
func Moves(string, bool) bool { return false }

// unsupported says why the job cannot run here, "" if it can. No resource's
// published data tells these.
func unsupported(job *jdl.Job, s *site) string {
	for _, f := range job.InputSandbox {
		if f.IsURL() {
			return "this machine does not fetch input files from " + f.Source
		}
		if !filepath.IsLocal(f.Name) {
			return "input file name " + f.Name + " leaves the job's directory"
		}
	}
	for _, f := range job.OutputSandbox {
		if f.DestURL != "" {
			return "this machine does not send output files to " + f.DestURL
		}
	}
	for _, name := range []string{job.StdOutput, job.StdError} {
		if name != "" && !filepath.IsLocal(name) {
			return "file name " + name + " leaves the job's directory"
		}
	}
	if job.Demand.Slots > s.Slots {
		return "more processors asked for than the site has slots"
	}
	return ""
}
