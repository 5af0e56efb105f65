package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// A node of a DAG may come after others however these have ended (AfterAny). Has it no job, its PostScript decides for them,
// as that of a node of DAGMan does for all jobs that the node queued: ends it with 0, what failed among them is made good.

// afterAny reports whether the job's turn comes when all that it comes after have ended, however they did.
func (o *Outcome) afterAny() bool {
	if len(o.After) == 0 || !strings.Contains(o.JDL, "AfterAny") { // most are not read
		return false
	}
	job, err := o.Job()
	return err == nil && job.AfterAny
}

// judges reports whether the job's PostScript decides for the jobs that it comes after.
func (o *Outcome) judges() bool {
	return o.Scripts != nil && o.Scripts.Post && o.Scripts.NoJob && o.afterAny()
}

// futile is that the job has failed because one that it comes after did, and was never begun.
func futile(r *Record) bool {
	return r.Failure() && r.Attempts == 0 && len(r.After) > 0 && r.Unmatched.IsZero() && (r.Scripts == nil || len(r.Scripts.Runs) == 0)
}

// judged are those among some jobs that a job comes after.
func judged(o *Outcome, among []*Outcome) []*Outcome {
	before := map[string]bool{}
	for _, id := range o.After {
		before[id] = true
	}
	return slices.DeleteFunc(slices.Clone(among), func(p *Outcome) bool { return !before[p.ID] })
}

// makeGood has what failed among the jobs that a PostScript decided for be done, where it found all well.
func makeGood(ctx context.Context, f *following) error {
	for _, o := range f.jobs {
		if o.Scripts == nil || !madeGood(o.Record) || !o.judges() {
			continue
		}
		failed := slices.DeleteFunc(judged(o, f.jobs), func(p *Outcome) bool { return !p.Failure() })
		err := f.apply(ctx, failed, func(r *Record) Event {
			if !r.Failure() {
				return nil
			}
			return MadeGood{By: o.Node}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tryAgain takes nodes with scripts that failed back to Intended, and with those whose PostScript decides what it decided
// on: the jobs that failed; where none did, all.
func tryAgain(ctx context.Context, f *following, os []*Outcome, now time.Time) error {
	for _, o := range os {
		var with []*Outcome
		if o.judges() {
			with = tryWith(judged(o, f.jobs))
		}
		again := false
		err := f.apply(ctx, append([]*Outcome{o}, with...), func(r *Record) Event {
			if r.ID != o.ID {
				if !again || !r.Final() || !f.free(r) {
					return nil
				}
				return Resubmitted{Why: "the PostScript of node " + o.Node + " has failed, which is tried again"}
			}
			job, err := r.Job()
			if err != nil {
				return nil
			}
			shallow, ok := retry(r, job, now)
			if again = ok; !ok {
				return nil
			}
			return Retried{Shallow: shallow}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tryWith are the jobs that are tried again with the node that decides for them.
func tryWith(all []*Outcome) []*Outcome {
	failed := slices.DeleteFunc(slices.Clone(all), func(o *Outcome) bool { return !o.Failure() })
	if len(failed) == 0 {
		return all
	}
	return failed
}

// judgedRecords are the recorded jobs that a PostScript decides for; nil of every other.
func judgedRecords(ctx context.Context, c *Controller, o *Outcome) []*Outcome {
	if !o.judges() {
		return nil
	}
	rs, err := c.Store.Select(ctx, Query{Parent: o.Parent})
	if err != nil {
		return nil
	}
	return judged(o, Outcomes(rs))
}

// leftFor is the part of a script that is about what one of the jobs leaves that it decides for.
func leftFor(s *jdl.Script, node string) *jdl.Script {
	own := *s
	own.Files = map[string]string{}
	for name, at := range s.Files {
		if file, ok := strings.CutPrefix(name, node+"/"); ok {
			own.Files[file] = at
		}
	}
	return &own
}

// meansForAll is what an argument of a PostScript stands for that decides for several jobs.
func meansForAll(parts []*Outcome, arg string) string {
	first, aborted := 0, 0
	codes := map[int]int{}
	for _, p := range parts {
		code := returned(p.Record)
		if codes[code]++; first == 0 {
			first = code
		}
		if jobState(p.Record) == plugins.Cancelled {
			aborted++
		}
	}
	var list, counts []string
	for code := range codes {
		list = append(list, strconv.Itoa(code))
		counts = append(counts, fmt.Sprintf("%d:%d", code, codes[code]))
	}
	slices.Sort(list)
	slices.Sort(counts)
	switch arg {
	case "$RETURN":
		return strconv.Itoa(first)
	case "$EXIT_CODES":
		return strings.Join(list, ",")
	case "$EXIT_CODE_COUNTS":
		return strings.Join(counts, ",")
	case "$JOBID", "$CLUSTERID":
		return parts[len(parts)-1].ID
	case "$JOB_COUNT":
		return strconv.Itoa(len(parts))
	case "$JOB_ABORT_COUNT":
		return strconv.Itoa(aborted)
	case "$SUCCESS":
		return map[bool]string{true: "True", false: "False"}[first == 0]
	case "$PRE_SCRIPT_RETURN":
		return "-1"
	}
	return arg
}
