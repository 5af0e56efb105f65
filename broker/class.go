package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// insignificant are attributes that say what runs, not where: jobs that
// differ in them alone are matched once.
var insignificant = map[string]bool{
	"executable": true, "arguments": true, "stdinput": true, "stdoutput": true, "stderror": true,
	"inputsandbox": true, "outputsandbox": true, "environment": true, "jobname": true, "nodename": true,
	"inputsandboxbaseuri": true, "inputsandboxdestfilename": true, "outputsandboxdesturi": true,
	"outputsandboxbasedesturi": true, "prologue": true, "prologuearguments": true, "epilogue": true,
	"epiloguearguments": true, "usertags": true, "retrycount": true, "shallowretrycount": true, "expirytime": true,
	"myproxyserver": true, "perusalfileenable": true, "perusaltimeinterval": true, "perusalfilesdesturi": true,
	"parameters": true, "parameterstart": true, "parameterstep": true, "type": true, "jobtype": true,
	"dependson": true, "nodeinputs": true, "abortdagon": true, "abortedby": true, "finalnode": true, "retryonexit": true, "autooutput": true,
	"executablefiles": true, "condorsubmit": true,
}

// classOf is equal for jobs that every resource judges alike: those with
// the same SignificantAttributes, or the same in all but what is
// insignificant and not used by Requirements or Rank.
func classOf(job *jdl.Job) string {
	var b strings.Builder
	demand, _ := json.Marshal(job.Demand) // plain numbers and texts: cannot fail
	fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%v %v\x00", job.VO, job.SubmitTo, demand, job.FuzzyRank, job.FuzzyFactor)
	for _, f := range job.InputSandbox {
		if f.IsURL() {
			fmt.Fprintf(&b, "%s\x00", f.Source)
		}
	}
	_, sent := job.FileSchemes()
	b.WriteString(strings.Join(sent, " ") + "\x00")
	for _, name := range job.InputData {
		fmt.Fprintf(&b, "%s\x00", name)
	}
	b.WriteString(exprText(job.Requirements) + "\x00")
	for _, e := range []classad.Expr{job.Rank, job.DefaultRank} {
		if e != nil {
			b.WriteString(exprText(e))
		}
		b.WriteByte(0)
	}
	for _, line := range significantText(job) {
		b.WriteString(line + "\x00")
	}
	return b.String()
}

func significantText(job *jdl.Job) []string {
	used := map[string]bool{}
	for _, e := range []classad.Expr{job.Requirements, job.Rank} {
		if e == nil {
			continue
		}
		classad.Walk(e, func(e classad.Expr) bool {
			switch e := e.(type) {
			case *classad.AttrRef:
				used[strings.ToLower(e.Name)] = true
			case *classad.Select:
				used[strings.ToLower(e.Name)] = true
			}
			return true
		})
	}
	var lines []string
	for _, a := range job.Ad.Attrs() {
		name := strings.ToLower(a.Name)
		keep := !insignificant[name] || used[name]
		if len(job.Significant) > 0 {
			keep = used[name] || slices.ContainsFunc(job.Significant, func(s string) bool { return strings.EqualFold(s, name) })
		}
		if keep {
			lines = append(lines, name+"="+exprText(a.Expr))
		}
	}
	slices.Sort(lines)
	return lines
}

// classes numbers the classes of jobs in the order they come; the value is the
// class of each job. Jobs that avoid different resources are not alike.
func classes(jobs []*jdl.Job, avoid func(*jdl.Job) []string) []int {
	at := map[string]int{}
	out := make([]int, len(jobs))
	if len(jobs) == 1 {
		return out // nothing to compare it with
	}
	for i, job := range jobs {
		key := classOf(job)
		if avoid != nil {
			key += strings.Join(avoid(job), "\x00")
		}
		c, ok := at[key]
		if !ok {
			c = len(at)
			at[key] = c
		}
		out[i] = c
	}
	return out
}
