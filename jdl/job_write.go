package jdl

import (
	"errors"
	"fmt"
	"slices"
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
		out = append(out, f.Name, f.DestURL)
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
	"Requirements", "Rank", "FuzzyRank", "FuzzyFactor", "fuzzy_factor", "SubmitTo", "BatchSystem", "ShortDeadlineJob", "ExpiryTime", "RetryCount",
	"ShallowRetryCount", "RetryOnExit", "AutoOutput", "PerusalFileEnable", "PerusalTimeInterval", "InputData", "DataRequirements",
	"OutputSE", "MyProxyServer", "VirtualOrganisation", "SignificantAttributes", "UserTags", "AllowZippedISB", "GPUModel", "Priority",
}

// BrokerOnly are the warnings of a conversion about what the user wrote for
// the broker and no other language has. What Requirements demand is in the
// Demand; except names what the target does write.
func (j *Job) BrokerOnly(except ...string) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	for _, name := range brokerOnly {
		if j.Given(name) && !slices.Contains(except, name) {
			d := j.Loss(name, "", "left out: only a broker acts on it")
			d.Severity = classad.Warning
			out = append(out, d)
		}
	}
	return out
}
