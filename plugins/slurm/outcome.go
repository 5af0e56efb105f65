package slurm

import (
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// outcome is what job.sh wrote about its job.
type outcome struct {
	started, ended time.Time
	node           string
	code           int
	step           string // the step that failed; "-": none; "signal": ended from outside
	done           bool   // it wrote its end
	cancelled      bool   // we asked for the end
}

// parseOutcomes reads the answer of the verb "outcomes": a line "job ID", then
// the lines of its file. A job that was started again counts from its last start.
func parseOutcomes(text string) map[string]outcome {
	all := map[string]outcome{}
	id := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		o := all[id]
		switch {
		case f[0] == "job" && len(f) == 2:
			id, o = f[1], outcome{}
		case f[0] == "cancelled":
			o.cancelled = true
		case f[0] == "started" && len(f) == 3:
			o = outcome{started: unix(f[1]), node: f[2], cancelled: o.cancelled}
		case f[0] == "ended" && len(f) == 4:
			o.ended, o.step, o.done = unix(f[1]), f[3], true
			o.code, _ = strconv.Atoi(f[2])
		}
		if id != "" {
			all[id] = o
		}
	}
	return all
}

// fill adds what only our own files know, and gives the verdict where Slurm
// has none. A job whose program ran to its end is Done, whatever its code.
func (o outcome) fill(st *plugins.Status) {
	if st.Started.IsZero() && st.State != plugins.Queued {
		st.Started = o.started
	}
	if st.Node == "" {
		st.Node = o.node
	}
	if !o.done {
		return
	}
	ran := o.step == "-" || o.step == "run"
	switch {
	case st.Native == "gone" || st.State == plugins.Failed && strings.HasPrefix(st.Native, "FAILED"):
		st.State = plugins.Failed
		if ran {
			st.State, st.Reason = plugins.Done, ""
		}
		if o.cancelled && o.step == "signal" {
			st.State = plugins.Cancelled
		}
	case !st.State.Final():
		return
	}
	if st.Ended.IsZero() {
		st.Ended = o.ended
	}
	if st.State == plugins.Failed && !ran {
		st.Reason = strings.TrimSpace(o.step + " failed")
	}
	if ran && !st.ExitCode.OK && st.State == plugins.Done {
		st.ExitCode = glue.Some(o.code)
	}
	if st.WallTime == 0 && st.Ended.After(st.Started) {
		st.WallTime = st.Ended.Sub(st.Started)
	}
}
