package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Nodes of a DAG may have commands that whoever follows it runs on their own machine, before and after the job, as
// HTCondor's DAGMan does (PreScript, PostScript). A job with a PostScript is finishing until that has ended, which tells how
// the node ended. What runs is recorded before it starts; a script that was cut short runs again.

// Scripts is what a record keeps of the commands before and after a job.
type Scripts struct {
	Pre   bool `json:"pre,omitempty"`  // the job has a PreScript
	Post  bool `json:"post,omitempty"` // and a PostScript
	NoJob bool `json:"no_job,omitempty"`
	// JobState is how the job itself ended; "": it has not, in the present try.
	JobState plugins.State `json:"job_state,omitempty"`
	// Failed is the exit code of the script by which the present try failed.
	Failed *int        `json:"failed,omitempty"`
	Runs   []ScriptRun `json:"runs,omitempty"` // of the present try
}

// ScriptRun is one run of a script; of one that runs again after its DeferOn the last.
type ScriptRun struct {
	Post     bool      `json:"post,omitempty"` // the PostScript; else the PreScript
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`
	ExitCode *int      `json:"exit_code,omitempty"` // below 0: the signal that ended it
	Said     string    `json:"said,omitempty"`      // the last line of its output
	Of       string    `json:"of,omitempty"`        // the other node whose script it was: it counts here, too
}

// scriptsOf is what a new record has of a job's scripts; nil: it has none.
func scriptsOf(job *jdl.Job) *Scripts {
	if !job.Scripted() {
		return nil
	}
	return &Scripts{Pre: job.Pre != nil, Post: job.Post != nil, NoJob: job.NoJob}
}

func (s *Scripts) clone() *Scripts {
	if s == nil {
		return nil
	}
	c := *s
	c.Runs = slices.Clone(s.Runs)
	return &c
}

// anew is that another try of the node begins.
func (s *Scripts) anew() {
	if s != nil {
		s.JobState, s.Failed, s.Runs = "", nil, nil
	}
}

// run is the last run of one script in the present try; nil: none.
func (s *Scripts) run(post bool) *ScriptRun {
	for i := range s.Runs {
		if s.Runs[i].Post == post {
			return &s.Runs[i]
		}
	}
	return nil
}

// ended is the exit code of a script that has ended for good in the present try.
func (s *Scripts) ended(post bool) (code int, ok bool) {
	if run := s.run(post); run != nil && run.ExitCode != nil && !run.Ended.IsZero() {
		return *run.ExitCode, true
	}
	return 0, false
}

// OwesScript tells which script of the job is to run next, PreScript or PostScript; "": none. Whether the jobs that it comes
// after have ended does not matter.
func OwesScript(r *Record) string {
	switch s := r.Scripts; {
	case s == nil:
	case r.State == plugins.Intended && s.Pre:
		if _, ran := s.ended(false); !ran {
			return "PreScript"
		}
	case r.State == plugins.Finishing && s.JobState != "":
		return "PostScript"
	}
	return ""
}

// awaitsPost is that the job itself has ended, and the node has not.
func awaitsPost(r *Record) bool { return OwesScript(r) == "PostScript" }

// leftOut is that the node is done without its job, by the SkipOn of its PreScript or of one before it.
func leftOut(r *Record) bool {
	if r.State != plugins.Done || r.Scripts == nil {
		return false
	}
	code, ran := r.Scripts.ended(false)
	return ran && code != 0
}

// madeGood is that the PostScript has found all well, whatever the job did.
func madeGood(r *Record) bool {
	if r.State != plugins.Done || r.Scripts == nil {
		return false
	}
	code, ran := r.Scripts.ended(true)
	return ran && code == 0
}

// failedScript is the exit code of the script that failed the node; false: none did.
func failedScript(r *Record) (code int, ok bool) {
	if r.Scripts == nil || r.Scripts.Failed == nil {
		return 0, false
	}
	return *r.Scripts.Failed, true
}

// sitesFault is that the job itself did not come to its end, and not by its own fault.
func sitesFault(r *Record) bool {
	return r.Scripts.JobState != "" && r.Scripts.JobState != plugins.Done && r.Fault != plugins.JobsFault
}

// nodeCode is the exit code of a node that has ended by one: its last script's, else its job's.
func nodeCode(r *Record) (code int, ok bool) {
	switch code, failed := failedScript(r); {
	case failed:
		return code, true
	case madeGood(r):
		return 0, true
	case r.State == plugins.Done && r.ExitCode != nil:
		return *r.ExitCode, true
	}
	return 0, false
}

// scriptWord names one of the two.
func scriptWord(post bool) string {
	if post {
		return "PostScript"
	}
	return "PreScript"
}

// ScriptBegun is that a process is about to run a script of the job. It is on disk before that starts.
type ScriptBegun struct {
	Post  bool
	Owner string // its lease
	What  string
}

func (ScriptBegun) name() string { return "script" }
func (ScriptBegun) from() []plugins.State {
	return []plugins.State{plugins.Intended, plugins.Finishing}
}
func (e ScriptBegun) apply(r *Record, now time.Time) (string, bool) {
	text := scriptWord(e.Post) + ": " + e.What
	if run := r.Scripts.run(e.Post); run == nil {
		r.Scripts.Runs = append(r.Scripts.Runs, ScriptRun{Post: e.Post, Began: now})
	} else {
		if run.Ended.IsZero() {
			text += ", which was cut short"
		}
		*run = ScriptRun{Post: e.Post, Began: now}
	}
	r.Owner, r.NotBefore = e.Owner, time.Time{}
	return text, true
}

// ScriptStopped is that a script was ended before it came to its end, as the one who followed was interrupted.
type ScriptStopped struct{ Post bool }

func (ScriptStopped) name() string { return "script" }
func (ScriptStopped) from() []plugins.State {
	return []plugins.State{plugins.Intended, plugins.Finishing}
}
func (e ScriptStopped) apply(r *Record, _ time.Time) (string, bool) {
	r.Owner = ""
	r.Scripts.Runs = slices.DeleteFunc(r.Scripts.Runs, func(run ScriptRun) bool { return run.Post == e.Post })
	return "the " + scriptWord(e.Post) + " was interrupted: it runs again", true
}

// scriptRuns reports whether somebody has begun a script of the job and has not said how it ended: a process that is known
// as the job's owner, while it lives.
func scriptRuns(r *Record) bool {
	return r.Scripts != nil && slices.ContainsFunc(r.Scripts.Runs, func(run ScriptRun) bool { return run.Ended.IsZero() })
}

// otherwise is how the job itself ended where its PostScript made that good.
func otherwise(r *Record) string {
	switch {
	case r.Scripts.JobState != plugins.Done:
		return strings.TrimSuffix(fmt.Sprintf("the job itself is %s, and its PostScript found all well: %s", r.Scripts.JobState, r.Reason), ": ")
	case r.ExitCode != nil && *r.ExitCode != 0:
		return fmt.Sprintf("the job itself ended with exit code %d, and its PostScript found all well", *r.ExitCode)
	}
	return ""
}
