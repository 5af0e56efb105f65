package arcrest

import (
	"maps"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// states are the words of the REST interface, in ours. A job that waits for
// its turn at the CE is PREPARED.
var states = map[string]plugins.State{
	"ACCEPTING":   plugins.Accepted,
	"ACCEPTED":    plugins.Accepted,
	"PREPARING":   plugins.Preparing,
	"PREPARED":    plugins.Queued,
	"SUBMITTING":  plugins.Queued,
	"QUEUING":     plugins.Queued,
	"RUNNING":     plugins.Running,
	"HELD":        plugins.Held,
	"EXITINGLRMS": plugins.Finishing,
	"OTHER":       plugins.Running,
	"EXECUTED":    plugins.Finishing,
	"FINISHING":   plugins.Finishing,
	"KILLING":     plugins.Finishing,
	"FINISHED":    plugins.Done,
	"FAILED":      plugins.Failed,
	"KILLED":      plugins.Cancelled,
	"WIPED":       plugins.Lost,
}

// everyState filters for all of them: a list with a filter has the live state
// of every job, while action=status lags behind by a cycle of the infoprovider.
var everyState = strings.Join(slices.Sorted(maps.Keys(states)), ",")

func stateOf(native string) plugins.State {
	if s, ok := states[native]; ok {
		return s
	}
	return plugins.Unknown
}

// ranToItsEnd tells a job whose own exit code is the only thing wrong with it
// from one that was ended: ARC calls both FAILED. Its batch system scripts
// report the former as "LRMS error: (3) Job finished with wrong exit code" or
// "LRMS error: (3) Job failed ...".
func ranToItsEnd(reason string) bool {
	_, rest, ok := strings.Cut(reason, "LRMS error: (")
	if !ok {
		return false
	}
	code, words, ok := strings.Cut(rest, ") ")
	return ok && code != "-1" && code != "271" && (strings.HasPrefix(words, "Job finished") || strings.HasPrefix(words, "Job failed"))
}

// saysCodeAlone tells the reason of a job that ran to its end which has nothing
// in it but the exit code, and reads as if the site had failed.
func saysCodeAlone(reason string) bool {
	_, words, _ := strings.Cut(reason, "LRMS error: (")
	_, words, _ = strings.Cut(words, ") ")
	return strings.HasPrefix(words, "Job finished with wrong exit code") && !strings.Contains(words, ";")
}
