package cli

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/foreign"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
)

// noScripts refuses to hand nodes with scripts to a scheduler: it runs nobody's commands, and does not wait for them.
func noScripts(all []*jdl.Job) error {
	for _, j := range all {
		if j.Scripted() {
			return usageError(fmt.Errorf("%s: neither a scheduler nor a tree of managers runs a PreScript or PostScript: submit the DAG without --via", foreign.Text(j.Name)))
		}
	}
	return nil
}

// mayRun refuses descriptions that name commands for this machine, unless the user has said that they may run: who is
// given a description may not have read it.
func (f *submitOptions) mayRun(all []*jdl.Job) error {
	if f.scripts || f.dryRun {
		return nil
	}
	var commands []string
	for _, j := range all {
		for _, s := range []*jdl.Script{j.Pre, j.Post} {
			if s != nil && !slices.Contains(commands, s.Command) && len(commands) < 100 {
				commands = append(commands, s.Command)
			}
		}
	}
	n := len(commands)
	if n == 0 {
		return nil
	}
	more := ""
	if n > 5 {
		commands, more = commands[:5], fmt.Sprintf(" and %d more", n-5)
	}
	return usageError(fmt.Errorf("scripts of its nodes would run on this machine as you: %s%s\n    look at them, then: grid submit --scripts", foreign.Text(strings.Join(commands, ", ")), more))
}

// scriptLosses are the scripts of a job, which no other language has.
func scriptLosses(j *jdl.Job) (out []*classad.Diagnostic) {
	if j.Pre != nil {
		out = append(out, j.Loss("PreScript", "run it in the job's own script", "only JDL has it: %s", j.Pre))
	}
	if j.Post != nil {
		out = append(out, j.Loss("PostScript", "run it in the job's own script", "only JDL has it: %s", j.Post))
	}
	if j.NoJob {
		out = append(out, j.Loss("NoJob", "", "only JDL has nodes without a job"))
	}
	return out
}

// scriptNote says which script of a job is to run.
func scriptNote(o *jobs.Outcome) string {
	switch owed := jobs.OwesScript(o.Record); {
	case owed == "PostScript":
		return "its PostScript is to run"
	case owed != "" && len(o.After) == 0:
		return "its PreScript is to run before it is sent"
	}
	return ""
}

// scriptTexts are the runs of a job's scripts in its present try.
func scriptTexts(o *jobs.Outcome) (out []string) {
	if o.Scripts == nil {
		return nil
	}
	for _, run := range o.Scripts.Runs {
		text := "PreScript"
		if run.Post {
			text = "PostScript"
		}
		switch {
		case run.Ended.IsZero() && o.Final():
			text += " was ended with the job"
		case run.Ended.IsZero():
			text += " runs since " + run.Began.Local().Format("15:04:05")
		case run.ExitCode == nil:
			text += " is to run again"
		default:
			text += fmt.Sprintf(" ended with exit code %d after %s", *run.ExitCode, span(run.Ended.Sub(run.Began)))
		}
		if run.Of != "" {
			text += ": that of node " + run.Of
		}
		if run.Said != "" {
			text += ": " + run.Said
		}
		out = append(out, text)
	}
	return out
}
