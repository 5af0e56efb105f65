package jobs

import (
	"fmt"
	"slices"
	"time"

	"gridbroker/plugins"
)

// The life of a job. This file and its neighbours life*.go are the only ones that
// give a job its state.

// Event is something that happened to a job.
type Event interface {
	// name is the word for it in the log.
	name() string
	// from are the states in which it can happen.
	from() []plugins.State
	// apply writes it into the record, and returns the text for the log and
	// whether it is worth a line there.
	apply(r *Record, now time.Time) (text string, told bool)
}

// Change is what an event did to a job, for its log; empty: nothing.
type Change struct{ Action, Text string }

// IllegalError is an event that cannot happen to a job in its state.
type IllegalError struct {
	ID    string
	Event string
	State plugins.State
}

// Error implements error.
func (e *IllegalError) Error() string {
	return fmt.Sprintf("job %s is %s: %s cannot happen to it", e.ID, e.State, e.Event)
}

// Apply writes an event into the record. One that cannot happen in the state
// the job is in changes nothing and is an *IllegalError.
func (r *Record) Apply(e Event, now time.Time) (Change, error) {
	if !slices.Contains(e.from(), r.State) {
		return Change{}, &IllegalError{ID: r.ID, Event: e.name(), State: r.State}
	}
	text, told := e.apply(r, now)
	if !told {
		return Change{}, nil
	}
	return Change{e.name(), text}, nil
}

// The states by what can happen in them.
var (
	fresh  = []plugins.State{""}
	kept   = []plugins.State{plugins.Intended}
	asked  = []plugins.State{plugins.Submitting}
	taken  = []plugins.State{plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, plugins.Held, plugins.Finishing}
	over   = []plugins.State{plugins.Done, plugins.Failed, plugins.Cancelled, plugins.Lost}
	living = slices.Concat(kept, asked, taken)
	every  = slices.Concat(living, over)
)

// closed is how a job's own end becomes that of its record: one with a PostScript waits for that.
func closed(r *Record) {
	if s := r.Scripts; s != nil && s.Post && r.Final() && r.Cancelled.IsZero() {
		s.JobState, r.State = r.State, plugins.Finishing
	}
}

// settled is that the user wants a job to end that has, but for its PostScript.
func settled(r *Record) {
	if awaitsPost(r) {
		r.State, r.Owner = r.Scripts.JobState, ""
	}
}
