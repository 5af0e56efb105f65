package jobs

import (
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// endedJob is a node whose job has come to its end and whose PostScript has not.
func endedJob(state plugins.State, code int) *Record {
	r := inState(plugins.Finishing)
	r.ExitCode, r.Scripts = &code, &Scripts{Post: true, JobState: state, Runs: []ScriptRun{{Began: lifeStart}, {Post: true, Began: lifeStart}}}
	return r
}

// What a back-end says of a job that has ended, while the node's PostScript is still to tell, changes nothing: not that it
// does not know it any more, either.
func TestEndedJobAwaitsItsScript(t *testing.T) {
	for _, says := range []plugins.State{plugins.Running, plugins.Failed, plugins.Cancelled, plugins.Lost} {
		r := endedJob(plugins.Done, 0)
		for _, at := range []time.Duration{0, MissingTime, 2 * MissingTime} {
			e := Seen{Status: plugins.Status{State: says}, At: clock.Reading{Start: "s", Up: at}}
			if change, err := r.Apply(e, lifeStart.Add(at)); err != nil || change.Action != "" {
				t.Errorf("%s: %v, %v", says, change, err)
			}
		}
		if r.State != plugins.Finishing || r.Scripts.JobState != plugins.Done || *r.ExitCode != 0 {
			t.Errorf("%s: %s, the job %s", says, r.State, r.Scripts.JobState)
		}
	}
}

// A node with a PostScript whose job ends goes on with that, but where the user has cancelled it; a script's end counts when
// that script is due.
func TestEndsOfScripts(t *testing.T) {
	seen := func(st plugins.State) Event {
		return Seen{Status: plugins.Status{State: st}, At: clock.Reading{Start: "s"}}
	}
	script := func(post bool, exit int) Event {
		return ScriptEnded{Post: post, Exit: exit, Script: &jdl.Script{Skip: 2, Again: 3, AgainAfter: time.Minute}}
	}
	running := func(edit func(*Record)) *Record {
		r := inState(plugins.Running)
		r.Scripts = &Scripts{Post: true}
		if edit != nil {
			edit(r)
		}
		return r
	}
	waiting := func() *Record {
		r := inState(plugins.Intended)
		r.Owner, r.Scripts = "me", &Scripts{Pre: true, Runs: []ScriptRun{{Began: lifeStart}, {Post: true, Began: lifeStart}}}
		return r
	}
	for name, c := range map[string]struct {
		r     *Record
		event Event
		state plugins.State
		job   plugins.State
		owner string
		over  bool // Ended is set
	}{
		"the job ends":                         {running(nil), seen(plugins.Failed), plugins.Finishing, plugins.Failed, "", true},
		"the job goes on":                      {running(nil), seen(plugins.Queued), plugins.Queued, "", "", false},
		"the cancelled job ends":               {running(func(r *Record) { r.Cancelled = lifeStart }), seen(plugins.Failed), plugins.Failed, "", "", true},
		"the node is cancelled":                {endedJob(plugins.Failed, 1), CancelAsked{}, plugins.Failed, plugins.Failed, "", false},
		"PostScript ends well":                 {endedJob(plugins.Failed, 1), script(true, 0), plugins.Done, plugins.Failed, "", false},
		"PostScript fails":                     {endedJob(plugins.Done, 0), script(true, 1), plugins.Failed, plugins.Done, "", true},
		"PostScript runs again":                {endedJob(plugins.Done, 0), script(true, 3), plugins.Finishing, plugins.Done, "", false},
		"PostScript's turn, a PreScript's end": {endedJob(plugins.Done, 0), script(false, 1), plugins.Finishing, plugins.Done, "", false},
		"PreScript ends well":                  {waiting(), script(false, 0), plugins.Intended, "", "", false},
		"PreScript fails":                      {waiting(), script(false, 1), plugins.Failed, "", "", true},
		"PreScript leaves the job out":         {waiting(), script(false, 2), plugins.Done, "", "", true},
		"PreScript's turn, a PostScript's end": {waiting(), script(true, 1), plugins.Intended, "", "", false},
		"a script that did not run":            {running(func(r *Record) { r.State, r.Scripts = plugins.Intended, &Scripts{Pre: true} }), script(false, 1), plugins.Intended, "", "", false},
		"left out with those before it":        {waiting(), SkippedAlong{By: "S.pre", Exit: 7}, plugins.Done, "", "", true},
		"made good":                            {func() *Record { r := inState(plugins.Failed); return r }(), MadeGood{By: "x"}, plugins.Done, plugins.Failed, "", false},
	} {
		if _, err := c.r.Apply(c.event, lifeStart.Add(time.Minute)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := c.r; r.State != c.state || r.Scripts.JobState != c.job || r.Owner != c.owner || r.Ended.IsZero() == c.over {
			t.Errorf("%s: %s, the job %q, of %q, ended %s", name, r.State, r.Scripts.JobState, r.Owner, r.Ended)
		}
	}
}
