package slurm

import (
	"errors"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// TestJudge holds what is said of a job against what the queue, accounting and
// our own files say of it, each of which may say nothing or speak of another
// job that has the same number.
func TestJudge(t *testing.T) {
	away := errors.New("slurmdbd is away")
	ended := remote.Outcome{Done: true, Step: "-", Code: 3}
	in := func(name, state string) *row { return &row{name: name, state: state, reason: "None"} }
	for name, c := range map[string]struct {
		queue, acct *row
		acctErr     error
		files       *remote.Outcome // nil: no directory
		want        plugins.State
		reason      string // a part of it; "": none
		err         bool
	}{
		"waits":                          {queue: in("b", "PENDING"), files: &remote.Outcome{}, want: plugins.Queued},
		"runs, accounting is away":       {queue: in("b", "RUNNING"), acctErr: away, files: &remote.Outcome{}, want: plugins.Running},
		"ran, in accounting":             {acct: in("b", "COMPLETED"), files: &remote.Outcome{}, want: plugins.Done},
		"ran, by its files alone":        {files: &ended, want: plugins.Done},
		"ran, accounting is away":        {acctErr: away, files: &ended, want: plugins.Done},
		"ended for the controller only":  {queue: in("b", "COMPLETED"), files: &ended, want: plugins.Done},
		"alive for accounting only":      {acct: in("b", "RUNNING"), files: &remote.Outcome{}, want: plugins.Running},
		"cancelled, in accounting":       {acct: in("b", "CANCELLED"), files: &remote.Outcome{Cancelled: true}, want: plugins.Cancelled},
		"cancelled before it started":    {files: &remote.Outcome{Cancelled: true}, want: plugins.Cancelled},
		"cancelled, accounting is away":  {acctErr: away, files: &remote.Outcome{Cancelled: true}, want: plugins.Cancelled},
		"known to nobody":                {files: &remote.Outcome{}, want: plugins.Lost, reason: "no longer knows"},
		"used up its time":               {acct: in("b", "TIMEOUT"), files: &remote.Outcome{Done: true, Step: "signal", Code: 143}, want: plugins.Failed, reason: "the wall time was used up"},
		"used up its time, in the queue": {queue: &row{name: "b", state: "TIMEOUT", reason: "TimeLimit"}, files: &remote.Outcome{}, want: plugins.Failed, reason: "the wall time was used up"},
		"gave way":                       {acct: in("b", "PREEMPTED"), files: &remote.Outcome{Done: true, Step: "signal", Code: 143}, want: plugins.Failed, reason: "give way to other jobs"},
		"used too much memory":           {acct: in("b", "OUT_OF_MEMORY"), files: &remote.Outcome{Done: true, Step: "run", Code: 137}, want: plugins.Failed, reason: "more memory than it was given"},
		"ended from outside":             {acct: in("b", "FAILED"), files: &remote.Outcome{Done: true, Step: "signal", Code: 143}, want: plugins.Failed, reason: "ended from outside"},
		"nobody could be asked":          {acctErr: away, files: &remote.Outcome{}, want: plugins.Unknown, err: true},
		"cleaned":                        {acct: in("b", "COMPLETED"), want: plugins.Lost, err: true},
	} {
		k := known{queue: map[string]row{}, acct: map[string]row{}, outcomes: map[string]remote.Outcome{}, acctErr: c.acctErr, read: true}
		if c.queue != nil {
			k.queue["b"] = *c.queue
		}
		if c.acct != nil {
			k.acct["b"] = *c.acct
		}
		if c.files != nil {
			k.outcomes["b"] = *c.files
		}
		st := plugins.Status{State: plugins.Unknown}
		k.judge(&st, "b")
		if st.State != c.want || (st.Err != nil) != c.err || (st.Reason == "") != (c.reason == "") || !strings.Contains(st.Reason, c.reason) {
			t.Errorf("%s: %s, reason %q, error %v; want %s, %q", name, st.State, st.Reason, st.Err, c.want, c.reason)
		}
	}
}

// TestCodesOfFailures holds that a code of 0 is believed of no failure: accounting has
// it for a moment of a job that ended with another, and for good of one that never ran.
func TestCodesOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		state string
		exit  int
		files remote.Outcome
		want  plugins.State
		code  glue.Opt[int]
	}{
		"the end is on its way to accounting": {"FAILED", 0, remote.Outcome{Done: true, Step: "run", Code: 3}, plugins.Done, glue.Some(3)},
		"the end is there":                    {"FAILED", 3, remote.Outcome{Done: true, Step: "run", Code: 3}, plugins.Done, glue.Some(3)},
		"it ended well":                       {"COMPLETED", 0, remote.Outcome{Done: true, Step: "-"}, plugins.Done, glue.Some(0)},
		"a signal killed the program":         {"FAILED", 9, remote.Outcome{Done: true, Step: "run", Code: 137}, plugins.Done, glue.Some(137)},
		"it ended with 128":                   {"FAILED", 0, remote.Outcome{Done: true, Step: "run", Code: 128}, plugins.Done, glue.Some(128)},
		"nothing was written down":            {"FAILED", 0, remote.Outcome{}, plugins.Failed, glue.Opt[int]{}},
		"the node died":                       {"NODE_FAIL", 0, remote.Outcome{}, plugins.Failed, glue.Opt[int]{}},
	} {
		k := known{queue: map[string]row{"b": {name: "b", state: c.state}}, outcomes: map[string]remote.Outcome{"b": c.files}, read: true,
			acct: map[string]row{"b": {name: "b", state: c.state, exit: c.exit, hasExit: true}}}
		st := plugins.Status{State: plugins.Unknown}
		k.judge(&st, "b")
		if st.State != c.want || st.ExitCode != c.code {
			t.Errorf("%s: %s with code %v, want %s, %v", name, st.State, st.ExitCode, c.want, c.code)
		}
	}
}
