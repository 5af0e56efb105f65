package slurm

import (
	"strings"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// fillOutcome adds what only our own files know, and gives the verdict where Slurm
// has none. A job whose program ran to its end is Done, whatever its code.
func fillOutcome(o remote.Outcome, st *plugins.Status) {
	if st.Started.IsZero() && st.State != plugins.Queued {
		st.Started = o.Started
	}
	if st.Node == "" {
		st.Node = o.Node
	}
	if !o.Done {
		return
	}
	ran := o.Ran()
	switch {
	case st.Native == "gone" || st.State == plugins.Failed && strings.HasPrefix(st.Native, "FAILED"):
		st.State = plugins.Failed
		if ran {
			st.State, st.Reason = plugins.Done, ""
		}
		if o.Cancelled && o.Step == "signal" {
			st.State = plugins.Cancelled
		}
	case !st.State.Final():
		return
	}
	if st.Ended.IsZero() {
		st.Ended = o.Ended
	}
	if st.CPUTime == 0 { // there is no accounting, or it has yet to hear of the end
		st.CPUTime = o.CPU
	}
	if st.State == plugins.Failed && !ran && (o.Step != "signal" || st.Reason == "") { // of a signal Slurm knows why
		reason, fault := o.Why()
		st.Reason = reason
		if fault != "" {
			st.Fault = fault
		}
	}
	// sacct writes codes of 128 and more, those of programs that a signal killed, without these 128.
	if ran && st.State == plugins.Done && (!st.ExitCode.OK || st.ExitCode.V == o.Code-128) {
		st.ExitCode = glue.Some(o.Code)
	}
	if st.WallTime == 0 && st.Ended.After(st.Started) {
		st.WallTime = st.Ended.Sub(st.Started)
	}
}
