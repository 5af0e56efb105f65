package jobs

import (
	"fmt"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// What the scripts around a job do to it.

// ScriptEnded is that a script has come to its end.
type ScriptEnded struct {
	Post   bool
	Exit   int
	Said   string
	Script *jdl.Script
}

func (ScriptEnded) name() string { return "script" }
func (ScriptEnded) from() []plugins.State {
	return []plugins.State{plugins.Intended, plugins.Finishing}
}
func (e ScriptEnded) apply(r *Record, now time.Time) (string, bool) {
	r.Owner = ""
	run := r.Scripts.run(e.Post)
	if run == nil || e.Post != awaitsPost(r) {
		return "", false
	}
	run.Ended, run.Said = now, e.Said
	text := "the " + scriptWord(e.Post) + " ended with exit code " + fmt.Sprint(e.Exit)
	if e.Exit < 0 {
		text = fmt.Sprintf("the %s was ended by signal %d", scriptWord(e.Post), -e.Exit)
	}
	if e.Said != "" {
		text += ": " + e.Said
	}
	if e.Script.Again != 0 && e.Exit == e.Script.Again {
		r.NotBefore = now.Add(e.Script.AgainAfter)
		r.Reason = text + "; it runs again at " + r.NotBefore.Format(time.TimeOnly)
		return r.Reason, true
	}
	run.ExitCode = &e.Exit
	switch {
	case !e.Post && e.Exit == 0:
		r.Reason = ""
		return text, true
	case !e.Post && e.Exit == e.Script.Skip:
		r.State, r.Ended, r.Reason = plugins.Done, now, text+": the job is left out"
		return r.Reason, true
	case e.Exit == 0:
		r.State, r.Reason = plugins.Done, otherwise(r)
		return text, true
	}
	r.Scripts.Failed, r.Reason = &e.Exit, text
	r.State = plugins.Failed
	if r.Ended.IsZero() {
		r.Ended = now
	}
	return text, true
}

// LeftOut is that the turn of a node has come that has scripts and no job.
type LeftOut struct{}

func (LeftOut) name() string          { return "no job" }
func (LeftOut) from() []plugins.State { return kept }
func (LeftOut) apply(r *Record, now time.Time) (string, bool) {
	code := 0
	r.State, r.Ended, r.ExitCode, r.Reason = plugins.Done, now, &code, ""
	closed(r)
	return "the node has none", true
}

// SkippedAlong is that all that a node comes after were left out, and the node with them.
type SkippedAlong struct {
	By   string // the node of the PreScript that left them out
	Exit int    // that its PreScript ended with
}

func (SkippedAlong) name() string          { return "skipped" }
func (SkippedAlong) from() []plugins.State { return kept }
func (e SkippedAlong) apply(r *Record, now time.Time) (string, bool) {
	if r.Scripts == nil {
		r.Scripts = &Scripts{}
	}
	r.Scripts.Runs = append(r.Scripts.Runs, ScriptRun{Began: now, Ended: now, ExitCode: &e.Exit, Of: e.By})
	r.State, r.Owner, r.Ended = plugins.Done, "", now
	r.Reason = fmt.Sprintf("the PreScript of node %s ended with exit code %d: the job is left out", e.By, e.Exit)
	return r.Reason, true
}
