package jdl

import (
	"slices"

	"gridbroker/jdl/classad"
)

const (
	// growth is what the jobs of a text may take beside what follows, in bytes.
	growth = 64 << 20
	// growthOfJob is what each of the first jobsThatGrow may take besides.
	growthOfJob  = 24 << 10
	jobsThatGrow = 10_000
	// growthOfText is how many times the text's own length they may take besides.
	growthOfText = 8
	// weightOfEntry is what an entry of a list takes beside its text.
	weightOfEntry = 128
	// weightOfPart is what a part of an expression takes that a job has by its set: each job reads it anew.
	// As many as any job has are not counted.
	weightOfPart  = 64
	partsOfAnyJob = 250
)

// budget is the bytes that the jobs of one text may still take: a few lines with placeholders, or with what all nodes have of
// their set, make gigabytes. A long text may make as many jobs as it writes down.
type budget struct{ left, all, jobs int }

func newBudget(src string) *budget {
	all := growth + growthOfText*len(src)
	return &budget{left: all, all: all}
}

// job counts one more job.
func (b *budget) job() {
	if b.jobs++; b.jobs <= jobsThatGrow {
		b.left, b.all = b.left+growthOfJob, b.all+growthOfJob
	}
}

// spend reports whether n more bytes may be made.
func (b *budget) spend(n int) bool {
	b.left -= n
	return b.left >= 0
}

// over tells that the jobs of a parametric description are too much.
func (b *budget) over(r *jobReader) error {
	r.failAttr("Parameters", "limit", "", "the jobs take more than %d MB", b.all>>20)
	return r.err()
}

// parts counts what an expression is made of; an attribute is as much as two of these.
func parts(e classad.Expr) (n int) {
	classad.Walk(e, func(e classad.Expr) bool {
		if sub, is := e.(*classad.Ad); is {
			n += 2 * len(sub.Attrs())
		}
		n++
		return true
	})
	return n
}

// shared is what so many parts take that a job has by its set.
func shared(parts int) int { return weightOfPart * max(0, parts-partsOfAnyJob) }

// weight is about what a job takes beside its record, in bytes.
func weight(j *Job) (n int) {
	for _, list := range [][]string{j.Args, j.PrologueArgs, j.EpilogueArgs, j.Significant, j.InputData} {
		for _, s := range list {
			n += weightOfEntry + len(s)
		}
	}
	for _, list := range [][]EnvVar{j.Environment, j.Tags} {
		for _, v := range list {
			n += weightOfEntry + len(v.Name) + len(v.Value)
		}
	}
	for _, f := range j.InputSandbox {
		n += 2*weightOfEntry + len(f.Source) + len(f.Name) + len(f.Text)
	}
	for _, f := range j.OutputSandbox {
		n += 2*weightOfEntry + len(f.Name)
	}
	if j.Dialect == DIRAC || slices.ContainsFunc(placeNames, j.Given) { // places, which are in the record once more
		n += shared(parts(j.Requirements))
	}
	return n + len(j.Name) + len(j.Group) + len(j.Executable) + len(j.StdInput) + len(j.StdOutput) + len(j.StdError)
}
