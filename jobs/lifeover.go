package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/plugins"
)

// What happens to a job that is over.

// Retried is that a job which failed is to be sent again as its retry counts
// allow.
type Retried struct{ Shallow bool }

func (e Retried) name() string {
	if e.Shallow {
		return "resubmit (shallow)"
	}
	return "resubmit"
}
func (Retried) from() []plugins.State {
	return []plugins.State{plugins.Failed, plugins.Lost, plugins.Done}
}
func (e Retried) apply(r *Record, now time.Time) (string, bool) {
	if e.Shallow {
		r.Shallow++
	} else {
		r.Retries++
	}
	text := "failed at " + r.At + ": " + r.why()
	r.Tried = r.avoided()
	r.again(now)
	r.Scripts.anew()
	r.State = plugins.Intended
	return text, true
}

// NotRetried is that a job which failed could be sent again and there is no
// place for it: how it ended stands.
type NotRetried struct{ Why string }

func (NotRetried) name() string { return "no retry" }
func (NotRetried) from() []plugins.State {
	return []plugins.State{plugins.Failed, plugins.Lost, plugins.Done}
}
func (e NotRetried) apply(r *Record, _ time.Time) (string, bool) {
	r.NoRetry = true
	text := "nowhere else to try it: " + e.Why
	if r.Reason != "" {
		text = r.Reason + "; " + text
	}
	r.Reason = text
	return r.Reason, true
}

// Resubmitted is that the user wants the job to be sent anew.
type Resubmitted struct {
	Anywhere bool   // also to where it was tried before
	Why      string // "": the user wants it
}

func (Resubmitted) name() string          { return "resubmit" }
func (Resubmitted) from() []plugins.State { return slices.Concat(kept, over) }
func (e Resubmitted) apply(r *Record, now time.Time) (string, bool) {
	if r.Tried = r.avoided(); e.Anywhere {
		r.Tried = nil
	}
	r.again(now)
	r.Scripts.anew()
	r.State = plugins.Intended
	return cmp.Or(e.Why, "by the user"), true
}

// Restarted is that a job which failed is about to be asked to go on where it is. It is on
// disk before the request leaves: whether or not an answer comes, the job is followed. How
// it had failed stays among the past attempts.
type Restarted struct{}

func (Restarted) name() string          { return "restart" }
func (Restarted) from() []plugins.State { return []plugins.State{plugins.Failed} }
func (Restarted) apply(r *Record, now time.Time) (string, bool) {
	text, handle, submitted := "at "+r.At+", where it failed: "+r.why(), r.Handle, r.Submitted
	r.again(now)
	r.Scripts.anew()
	r.State, r.Handle, r.Submitted, r.Restarted = plugins.Accepted, handle, submitted, now
	return text, true
}

// NotRestarted is that the back-end does not let the job go on: it is what it was.
type NotRestarted struct {
	Was *Record
	Why string
}

func (NotRestarted) name() string          { return "not restarted" }
func (NotRestarted) from() []plugins.State { return []plugins.State{plugins.Accepted} }
func (e NotRestarted) apply(r *Record, _ time.Time) (string, bool) {
	w := e.Was
	r.State, r.Native, r.Reason, r.Fault, r.ExitCode, r.Host, r.Output = w.State, w.Native, w.Reason, w.Fault, w.ExitCode, w.Host, w.Output
	r.Started, r.Ended, r.Expires, r.WallTime, r.CPUTime, r.MaxMemory = w.Started, w.Ended, w.Expires, w.WallTime, w.CPUTime, w.MaxMemory
	r.NoRetry, r.Past, r.Restarted, r.Scripts = w.NoRetry, w.Past, time.Time{}, w.Scripts
	return e.Why, true
}

// Brought is that output has been brought.
type Brought struct {
	Attempt int
	Dir     string
}

func (Brought) name() string          { return "output" }
func (Brought) from() []plugins.State { return every }
func (e Brought) apply(r *Record, _ time.Time) (string, bool) {
	if e.Attempt == r.number() && !r.Final() {
		return fmt.Sprintf("to %s, while it was %s", e.Dir, r.State), true // not all that it leaves
	}
	if e.Attempt == r.number() {
		r.Output = e.Dir
		return "to " + e.Dir, true
	}
	for i := range r.Past {
		if r.Past[i].Number == e.Attempt {
			r.Past[i].Output = e.Dir
		}
	}
	return fmt.Sprintf("of attempt %d to %s", e.Attempt, e.Dir), true
}

// Vanished is that another process has removed the job's record.
type Vanished struct{}

func (Vanished) name() string          { return "removed" }
func (Vanished) from() []plugins.State { return every }
func (Vanished) apply(r *Record, _ time.Time) (string, bool) {
	r.State, r.Reason, r.NoRetry = plugins.Lost, "its record was removed meanwhile", true
	return r.Reason, true
}

// MadeGood is that the PostScript of another node has found all well, though this job failed.
type MadeGood struct{ By string }

func (MadeGood) name() string          { return "made good" }
func (MadeGood) from() []plugins.State { return over }
func (e MadeGood) apply(r *Record, now time.Time) (string, bool) {
	if r.Scripts == nil {
		r.Scripts = &Scripts{}
	}
	well, s := 0, r.Scripts
	if s.JobState == "" {
		s.JobState = r.State
	}
	s.Failed = nil
	s.Runs = append(slices.DeleteFunc(s.Runs, func(run ScriptRun) bool { return run.Post }),
		ScriptRun{Post: true, Began: now, Ended: now, ExitCode: &well, Of: e.By})
	r.State = plugins.Done
	text := fmt.Sprintf("it failed, and the PostScript of node %s found all well", e.By)
	if r.Reason = strings.TrimSuffix(text+": "+r.Reason, ": "); r.ExitCode != nil {
		r.Reason = fmt.Sprintf("its exit code was %d, and the PostScript of node %s found all well", *r.ExitCode, e.By)
	}
	return text, true
}
