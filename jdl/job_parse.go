package jdl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
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
	Name       string // JobName of a collection or DAG; "": it has none
	Jobs       []*Job
	MaxRunning int  // Max_Nodes_Running; 0: no limit
	Collocated bool // NodesCollocation: all jobs go to one resource
	Warnings   []*classad.Diagnostic
}

// ParseJob reads a description of one job in JDL. file is the name used in
// messages; relative sandbox names start from its directory. The error is a
// *classad.Diagnostic, or several joined. A description of many jobs is an
// error; ParseJobs reads it.
func ParseJob(file string, src []byte, opts ...Option) (*Job, error) {
	set, err := ParseJobs(file, src, opts...)
	if err != nil {
		return nil, err
	}
	return set.Only(file)
}

// Only is the one job of a set, with the set's warnings; it is an error when
// there are more.
func (s *JobSet) Only(file string) (*Job, error) {
	if s.Kind != SingleJob || len(s.Jobs) != 1 {
		return nil, &classad.Diagnostic{Severity: classad.Fatal, File: file, Code: "many-jobs",
			Msg: fmt.Sprintf("the file describes %d jobs (%s), and one is wanted", len(s.Jobs), s.Kind)}
	}
	job := s.Jobs[0]
	job.Warnings = slices.Concat(s.Warnings, job.Warnings)
	return job, nil
}

// ParseJobs reads a description of any number of jobs in JDL: a single one, a
// parametric job, a collection or a DAG.
func ParseJobs(file string, src []byte, opts ...Option) (*JobSet, error) {
	cfg := newJobConfig(opts)
	set := &JobSet{Kind: SingleJob}
	warn := func(d *classad.Diagnostic) { set.Warnings = append(set.Warnings, d) }
	ad, err := classad.ReadAd(file, src, classad.WithWarnings(warn))
	if err != nil {
		return nil, err
	}
	if err := set.read(newJobReader(file, string(src), cfg, ad)); err != nil {
		return nil, err
	}
	return set, nil
}

// FromRecords makes jobs of records that were read from another language: one
// is read as JDL is, several are a collection. src is the text they came from,
// for messages.
func FromRecords(file string, src []byte, ads []*classad.Ad, opts ...Option) (*JobSet, error) {
	cfg := newJobConfig(opts)
	if len(ads) > maxJobs {
		return nil, &classad.Diagnostic{Severity: classad.Fatal, File: file, Code: "limit", Msg: fmt.Sprintf("more than %d jobs", maxJobs)}
	}
	cfg.foreign = true
	set, text := &JobSet{Kind: Collection}, string(src)
	if len(ads) == 1 {
		return set, set.read(newJobReader(file, text, cfg, ads[0]))
	}
	cfg.tally = newTally()
	for i, ad := range ads {
		one := &JobSet{}
		if err := one.read(newJobReader(file, text, cfg, ad)); err != nil {
			return nil, err
		}
		for _, job := range one.Jobs {
			job.setNode(strconv.Itoa(i), nil)
		}
		set.Jobs = append(set.Jobs, one.Jobs...)
	}
	return set, nil
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
	if a, found := alien(r.ad); found && !r.cfg.stored && !r.cfg.foreign {
		return SingleJob, r.diagnostic(classad.Fatal, a.NamePos, "alien",
			fmt.Sprintf("%s: this is the JDL of AliEn, which is another language", a.Name), "grid reads the JDL of gLite and DIRAC")
	}
	r.job.Dialect = r.cfg.dialect
	if r.job.Dialect == AnyDialect {
		r.job.Dialect = judgeDialect(r.ad)
	}
	typ := classad.Fold(r.str("Type"))
	switch {
	case typ == "collection" || typ == "dag":
		return SetKind(typ), r.err()
	case r.has("Nodes") && typ == "":
		r.failAttr("Nodes", "type", `Type = "collection"; or Type = "dag";`, "Nodes without a Type")
	case isParametric(r):
		return Parametric, r.err()
	}
	return SingleJob, r.err()
}

func isParametric(r *jobReader) bool {
	if slices.ContainsFunc(r.strs("JobType"), func(s string) bool { return classad.EqualFold(s, "parametric") }) {
		return true
	}
	for _, a := range r.ad.Attrs() {
		if strings.HasPrefix(classad.Fold(a.Name), "parameters.") {
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
func kinds(r *jobReader) {
	if typ := classad.Fold(r.str("Type")); typ != "" && typ != "job" && !r.bad["type"] {
		r.failAttr("Type", "type", `it is "job", "collection" or "dag"`, "Type %q is not known", typ)
	}
	for _, kind := range r.strs("JobType") {
		works, known := jobKinds[classad.Fold(kind)]
		switch {
		case r.job.Dialect == DIRAC: // any word: DIRAC's JobType classifies
		case !known:
			r.failAttr("JobType", "type", kindHint(r, kind), "JobType %q is not known", kind)
		case classad.EqualFold(kind, "interactive"):
			r.failAttr("JobType", "interactive", "a batch job reads its input from a file: StdInput",
				"interactive jobs cannot be run: nothing connects a terminal to the node")
		case !works:
			r.failAttr("JobType", "deprecated", "", "%s jobs no longer exist", classad.Fold(kind))
		case classad.EqualFold(kind, "mpich") && !r.has("CPUNumber") && !r.has("NodeNumber"):
			r.failAttr("JobType", "missing", "CPUNumber = 4;", "an mpich job needs CPUNumber")
		case classad.EqualFold(kind, "mpich") && !r.cfg.stored:
			r.warn(r.pos("JobType"), "mpich", "", "the program is started once, with CPUNumber slots; it must call mpirun itself")
		}
	}
	interactiveOnly(r)
}

func kindHint(r *jobReader, kind string) string {
	if classad.Fold(kind) == "mpi" || classad.Fold(kind) == "openmpi" {
		return `JobType = "mpich"; CPUNumber = 4; or without JobType, a script that calls mpirun`
	}
	return cmp.Or(classad.DidYouMean(kind, slices.Sorted(maps.Keys(jobKinds))), "in DIRAC's JDL it may be any word: --dialect dirac")
}

func interactiveOnly(r *jobReader) {
	for _, name := range []string{"ListenerPort", "ListenerHost", "ListenerPipeName"} {
		if r.has(name) && !r.bad["jobtype"] {
			r.failAttr(name, "interactive", "", "%s belongs to interactive jobs", name)
		}
	}
}
