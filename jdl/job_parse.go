package jdl

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SetKind is what a file with jobs describes.
type SetKind string

// The kinds of sets.
const (
	SingleJob  SetKind = "job"
	Parametric SetKind = "parametric"
	Collection SetKind = "collection"
	DAG        SetKind = "dag"
)

// JobSet is all the jobs of one file. In a DAG, Job.After names the jobs that
// come first; there is no cycle.
type JobSet struct {
	Kind       SetKind
	Jobs       []*Job
	MaxRunning int  // Max_Nodes_Running; 0: no limit
	Collocated bool // NodesCollocation: all jobs go to one resource
	Warnings   []*Diagnostic
}

// ParseJob reads a description of one job: JDL, xRSL or ADL, told apart by
// the first character. file is the name used in messages; relative sandbox
// names start from its directory. The error is a *Diagnostic, or several
// joined. A description of many jobs is an error; ParseJobs reads it.
func ParseJob(file string, src []byte, opts ...Option) (*Job, error) {
	set, err := ParseJobs(file, src, opts...)
	if err != nil {
		return nil, err
	}
	if set.Kind != SingleJob || len(set.Jobs) != 1 {
		return nil, &Diagnostic{Severity: Fatal, File: file, Code: "many-jobs",
			Msg: fmt.Sprintf("the file describes %d jobs (%s), and one is wanted", len(set.Jobs), set.Kind)}
	}
	job := set.Jobs[0]
	job.Warnings = slices.Concat(set.Warnings, job.Warnings)
	return job, nil
}

// ParseJobs reads a description of any number of jobs: a single one, a
// parametric job, a collection or a DAG in JDL; several requests in xRSL;
// several ActivityDescriptions in ADL.
func ParseJobs(file string, src []byte, opts ...Option) (*JobSet, error) {
	cfg := newConfig(opts)
	set := &JobSet{Kind: SingleJob}
	cfg.warn = func(d *Diagnostic) { set.Warnings = append(set.Warnings, d) }
	if f := DetectFormat(src); f != FormatJDL {
		return set, set.readForeign(f, file, src, cfg)
	}
	ad, err := ReadAd(file, src, slices.Concat(opts, []Option{WithWarnings(cfg.warn)})...)
	if err != nil {
		return nil, err
	}
	if err := set.read(newJobReader(file, string(src), cfg.job, ad)); err != nil {
		return nil, err
	}
	return set, nil
}

// Format is a language that describes jobs.
type Format string

// The formats that can be read.
const (
	FormatJDL  Format = "jdl"
	FormatXRSL Format = "xrsl"
	FormatADL  Format = "adl"
	FormatJSON Format = "json"
)

// DetectFormat tells the language of a description by its first character
// that is not blank: "<" is ADL, "&", "+", "|" or "(" xRSL, "{" or "[{" JSON,
// anything else JDL.
func DetectFormat(src []byte) Format {
	const blanks = " \t\r\n\v\f"
	src = bytes.TrimLeft(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), blanks)
	if len(src) == 0 {
		return FormatJDL
	}
	switch src[0] {
	case '<':
		return FormatADL
	case '&', '+', '|', '(':
		return FormatXRSL
	case '{':
		return FormatJSON
	case '[':
		if bytes.HasPrefix(bytes.TrimLeft(src[1:], blanks), []byte("{")) {
			return FormatJSON
		}
	}
	return FormatJDL
}

// readForeign reads jobs of another language: each becomes a record of ours.
func (s *JobSet) readForeign(f Format, file string, src []byte, cfg config) error {
	var ads []*Ad
	var err error
	switch f {
	case FormatXRSL:
		ads, err = readXRSL(file, src, cfg)
	case FormatADL:
		ads, err = readADL(file, src, cfg)
	default:
		ads, err = readJSON(file, src)
	}
	if err != nil {
		return err
	}
	if f != FormatJSON {
		cfg.job.dialect = GLite
	}
	if len(ads) == 1 {
		return s.read(newJobReader(file, string(src), cfg.job, ads[0]))
	}
	s.Kind = Collection
	for i, ad := range ads {
		one := &JobSet{}
		if err := one.read(newJobReader(file, string(src), cfg.job, ad)); err != nil {
			return err
		}
		for _, job := range one.Jobs {
			job.setNode(strconv.Itoa(i), nil)
		}
		s.Jobs = append(s.Jobs, one.Jobs...)
	}
	return nil
}

// read expands one record.
func (s *JobSet) read(r *jobReader) error {
	kind, err := r.setKind()
	if err != nil {
		return err
	}
	s.Kind = kind
	switch kind {
	case Parametric:
		return s.parametric(r)
	case Collection, DAG:
		return s.nodes(r)
	}
	job, err := r.read()
	s.Jobs = []*Job{job}
	return err
}

// setKind judges by Type, JobType and the attributes only one kind has.
func (r *jobReader) setKind() (SetKind, error) {
	r.job.Dialect = r.cfg.dialect
	if r.job.Dialect == AnyDialect {
		r.job.Dialect = judgeDialect(r.ad)
	}
	typ := fold(r.str("Type"))
	switch {
	case typ == "collection" || typ == "dag":
		return SetKind(typ), r.err()
	case r.has("Nodes") && typ == "":
		r.failAttr("Nodes", "type", `Type = "collection"; or Type = "dag";`, "Nodes without a Type")
	case r.isParametric():
		return Parametric, r.err()
	}
	return SingleJob, r.err()
}

func (r *jobReader) isParametric() bool {
	if slices.ContainsFunc(r.strs("JobType"), func(s string) bool { return equalFold(s, "parametric") }) {
		return true
	}
	for _, a := range r.ad.Attrs() {
		if strings.HasPrefix(fold(a.Name), "parameters.") {
			return true
		}
	}
	return r.has("Parameters")
}

// jobKinds are the values of JobType; true: still a kind of job.
var jobKinds = map[string]bool{
	"normal": true, "mpich": true, "parametric": true, "user": true,
	"interactive": false, "checkpointable": false, "partitionable": false,
}

// kinds checks Type and JobType of a single job.
func (r *jobReader) kinds() {
	if typ := fold(r.str("Type")); typ != "" && typ != "job" && !r.bad["type"] {
		r.failAttr("Type", "type", `it is "job", "collection" or "dag"`, "Type %q is not known", typ)
	}
	for _, kind := range r.strs("JobType") {
		works, known := jobKinds[fold(kind)]
		switch {
		case r.job.Dialect == DIRAC: // any word: DIRAC's JobType classifies
		case !known:
			r.failAttr("JobType", "type", r.kindHint(kind), "JobType %q is not known", kind)
		case equalFold(kind, "interactive"):
			r.failAttr("JobType", "interactive", "a batch job reads its input from a file: StdInput",
				"interactive jobs cannot be run: nothing connects a terminal to the node")
		case !works:
			r.failAttr("JobType", "deprecated", "", "%s jobs no longer exist", fold(kind))
		case equalFold(kind, "mpich") && !r.has("CPUNumber") && !r.has("NodeNumber"):
			r.failAttr("JobType", "missing", "CPUNumber = 4;", "an mpich job needs CPUNumber")
		case equalFold(kind, "mpich") && !r.cfg.stored:
			r.warn(r.pos("JobType"), "mpich", "", "the program is started once, with CPUNumber slots; it must call mpirun itself")
		}
	}
	r.interactiveOnly()
}

func (r *jobReader) kindHint(kind string) string {
	return didYouMean(kind, slices.Sorted(maps.Keys(jobKinds)))
}

func (r *jobReader) interactiveOnly() {
	for _, name := range []string{"ListenerPort", "ListenerHost", "ListenerPipeName"} {
		if r.has(name) && !r.bad["jobtype"] {
			r.failAttr(name, "interactive", "", "%s belongs to interactive jobs", name)
		}
	}
}
