package jdl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// PerNode is the number of slots on one node, 0, where the job says so.
func (d Demand) PerNode() int {
	if d.SlotsPerNode == 0 && d.Nodes > 0 && d.Slots > 1 {
		return (d.Slots + d.Nodes - 1) / d.Nodes
	}
	return d.SlotsPerNode
}

// GPUsPerNode is how many GPUs a job wants of each of its nodes, over which they are spread.
func (d Demand) GPUsPerNode() int {
	nodes := max(1, d.Nodes)
	return (d.GPUs + nodes - 1) / nodes
}

// Seconds is a time in whole seconds, rounded up.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Minutes is a time in whole minutes, rounded up.
func Minutes(d time.Duration) int64 { return int64((d + time.Minute - 1) / time.Minute) }

// Texts lists all that comes from the user and ends up in a description.
func (j *Job) Texts() []string {
	d := j.Demand
	out := []string{j.Name, j.Executable, j.StdInput, j.StdOutput, j.StdError, j.Prologue, j.Epilogue, d.Queue}
	for _, list := range [][]string{j.Args, j.PrologueArgs, j.EpilogueArgs, d.RuntimeEnvironments} {
		out = append(out, list...)
	}
	for _, v := range j.Environment {
		out = append(out, v.Name, v.Value)
	}
	for _, f := range j.InputSandbox {
		out = append(out, f.Source, f.Name)
	}
	for _, f := range j.OutputSandbox {
		out = append(out, f.Name, f.DestURL, f.Back)
	}
	return out
}

// Given reports whether the user's text has the attribute, where it was not
// filled in.
func (j *Job) Given(name string) bool { return j.given[classad.Fold(name)] }

// noteGiven notes what the text has.
func noteGiven(r *jobReader) {
	r.job.given = map[string]bool{}
	for _, a := range r.ad.Attrs() {
		if a.NamePos.Line > 0 || a.Expr.Pos().Line > 0 {
			r.job.given[classad.Fold(a.Name)] = true
		}
	}
}

// Loss says that another language cannot say an attribute, with its place.
func (j *Job) Loss(name, hint, format string, args ...any) *classad.Diagnostic {
	d := &classad.Diagnostic{Severity: classad.Fatal, File: j.File, Code: "not-said", Hint: hint, Msg: name + ": " + fmt.Sprintf(format, args...)}
	if j.Ad != nil {
		if a, ok := j.Ad.Attr(name); ok {
			d.Pos = a.NamePos
		}
	}
	return d
}

// LossError is the error of a description that would lose something; nil
// without any.
func LossError(losses []*classad.Diagnostic) error {
	errs := make([]error, len(losses))
	for i, d := range losses {
		errs[i] = d
	}
	return errors.Join(errs...)
}

// brokerOnly are attributes that tell a broker what to do: no description for
// a computing element has them.
var brokerOnly = []string{
	"JobGroup", "Requirements", "Rank", "FuzzyRank", "FuzzyFactor", "fuzzy_factor", "SubmitTo", "BatchSystem", "ShortDeadlineJob", "ExpiryTime", "RetryCount",
	"ShallowRetryCount", "RetryOnExit", "AbortDAGOn", "AutoOutput", "PerusalFileEnable", "PerusalTimeInterval", "InputData", "DataRequirements",
	"Site", "BannedSites", "BannedSite", "GridCE", "GridRequiredCEs", "OutputSE", "MyProxyServer", "VirtualOrganisation", "SignificantAttributes", "UserTags", "AllowZippedISB", "Priority", "OutputSandboxDestFileName",
}

// carried are the attributes that become part of a description in another
// language, or that have gone into making the job.
var carried = []string{
	"Type", "JobType", "JobName", "Executable", "Arguments", "StdInput", "StdOutput", "StdError", "Environment", "ExecutionEnvironment", "HLRLocation",
	"InputSandbox", "InputSandboxBaseURI", "InputSandboxDestFileName", "ExecutableFiles", "OutputSandbox", "OutputSandboxDestURI",
	"OutputSandboxBaseDestURI", "OutputData", "Prologue", "PrologueArguments", "Epilogue", "EpilogueArguments",
	"CPUNumber", "NodeNumber", "SMPGranularity", "HostNumber", "WholeNodes", "GPUNumber", "GPUModel", "WallTime", "CPUTime", "Memory", "VirtualMemory", "Disk",
	"RunTimeEnvironment", "ContainerImage", "Queue", "QueueName", "NumberOfProcessors", "MinNumberOfProcessors", "MaxNumberOfProcessors", "Tags", "Tag",
	"Parameters", "ParameterStart", "ParameterStep", "ParameterFactor", "ParameterValue", "Nodes", "NodeName", "File", "Description",
	"Dependencies", "DependsOn", "DefaultNodeRetryCount", "DefaultNodeShallowRetryCount", "FinalNode", "AfterAny", "SkipAlong", "AbortedBy", "NodeInputs", "PreScript", "PostScript", "NoJob",
	"NodeCategory", "MaxCategoryRunning",
}

// BrokerOnly are the warnings of a conversion about what the user wrote and no
// other language has: what a broker acts on, what has no effect anywhere, and
// attributes of the user's own. What Requirements demand is in the Demand;
// except names what the target does write.
func (j *Job) BrokerOnly(except ...string) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	silent := map[string]bool{}
	for _, list := range [][]string{brokerOnly, carried, except} {
		for _, name := range list {
			silent[classad.Fold(name)] = true
		}
	}
	say := func(name, why string) {
		d := j.Loss(name, "", "left out: %s", why)
		d.Severity = classad.Warning
		out = append(out, d)
	}
	for _, name := range brokerOnly {
		if j.Given(name) && !slices.Contains(except, name) {
			say(name, "only a broker acts on it")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(j.given)) {
		def := findAttr(key)
		switch {
		case silent[key] || strings.HasPrefix(key, "parameters.") || strings.HasPrefix(key, "parameterst") || strings.HasPrefix(key, "parameterf"):
		case def == nil:
			say(j.written(key), "no other language keeps attributes of your own")
		case def.mode&isIgnored != 0:
			say(def.name, "it has no effect here")
		case key != "defaultrank" || classad.Unparse(j.DefaultRank) != gliteRank:
			say(def.name, "no other language has it")
		}
	}
	return out
}

// written is the name of an attribute as the text has it.
func (j *Job) written(key string) string {
	if a, ok := j.Ad.Attr(key); ok {
		return a.Name
	}
	return key
}
