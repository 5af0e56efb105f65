package jobs

import (
	"fmt"
	"slices"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

// What happens to a job that a place has.

// TakenUp is that a job was found at a back-end which no record knew.
type TakenUp struct {
	Attempt   int
	Handle    plugins.Handle
	Submitted time.Time // as the back-end says; zero: it does not
}

func (TakenUp) name() string          { return "adopt" }
func (TakenUp) from() []plugins.State { return slices.Concat(kept, taken, over) }
func (e TakenUp) apply(r *Record, _ time.Time) (string, bool) {
	r.State, r.Handle, r.Attempt, r.Attempts = plugins.Accepted, e.Handle, e.Attempt, e.Attempt
	at := sensible(e.Submitted)
	if at.IsZero() {
		at = r.Created // the first was sent as soon as it was made
	}
	r.Sent, r.Submitted, r.NoRetry, r.Adopted = at, at, true, true
	return "as " + e.Handle.ID, true
}

// Seen is what the back-end says of the job.
type Seen struct {
	Status plugins.Status
	At     clock.Reading // when it was asked
}

func (e Seen) name() string        { return string(e.Status.State) }
func (Seen) from() []plugins.State { return taken }
func (e Seen) apply(r *Record, now time.Time) (string, bool) {
	st := e.Status
	if awaitsPost(r) {
		return "", false
	}
	if r.stale(st, now) {
		return "", false
	}
	switch st.State {
	case plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, plugins.Held, plugins.Finishing,
		plugins.Done, plugins.Failed, plugins.Cancelled:
	case plugins.Lost:
		if !r.missed(e.At, now) {
			return "", false
		}
	default: // unknown, or what no back-end can say: no verdict
		r.certain() // that it was not known before counts no more
		return "", false
	}
	was := r.State
	r.State = st.State
	r.tell(st)
	if r.Final() && r.Ended.IsZero() {
		r.Ended = now
	}
	if r.State == plugins.Cancelled && !r.TakenBack.IsZero() && r.Cancelled.IsZero() {
		return r.moveOn(now), true
	}
	if r.State == plugins.Running {
		r.TakenBack = time.Time{} // it began before that could be done
	}
	if st.State != plugins.Lost {
		r.certain()
		r.Restarted = time.Time{}
	}
	if now.Sub(r.Updated) >= updateStep || r.State != was {
		r.Updated = now
	}
	if r.State == was {
		return "", false
	}
	text := r.summary()
	closed(r)
	return text, true
}

// HoldAsked is that a job which waits is about to be held at its back-end, whose word for its
// state tells what came of it.
type HoldAsked struct{}

func (HoldAsked) name() string                            { return "hold" }
func (HoldAsked) from() []plugins.State                   { return taken }
func (HoldAsked) apply(*Record, time.Time) (string, bool) { return "", true }

// ReleaseAsked is that a held job is about to be let go on.
type ReleaseAsked struct{}

func (ReleaseAsked) name() string                            { return "release" }
func (ReleaseAsked) from() []plugins.State                   { return taken }
func (ReleaseAsked) apply(*Record, time.Time) (string, bool) { return "", true }

// TakeBack is that a job in a queue is about to be cancelled there, to be sent
// elsewhere. It is on disk before the request leaves: once the back-end has
// cancelled the job, whoever sees that goes on with it, and where it has not
// the job is where it is.
type TakeBack struct{ Why string }

func (TakeBack) name() string          { return "take back" }
func (TakeBack) from() []plugins.State { return []plugins.State{plugins.Queued} }
func (e TakeBack) apply(r *Record, now time.Time) (string, bool) {
	r.TakenBack = now
	return e.Why, true
}

// moveOn makes a job that was taken back ready to be sent elsewhere.
func (r *Record) moveOn(now time.Time) string {
	from, back := r.At, r.TakenBack
	r.Reason = "taken back to be sent elsewhere"
	r.Tried = slices.DeleteFunc(r.Tried, func(id string) bool { return id == r.Resource })
	r.again(now)
	r.State, r.TakenBack, r.Updated = plugins.Intended, back, now
	r.Moves++
	r.Reason = "taken back from " + from
	return "taken back from " + from
}

// Assigned is that a tree of managers has got the job a place, which is claimed for it: it is to be sent there.
type Assigned struct{ System string }

func (Assigned) name() string          { return "assigned" }
func (Assigned) from() []plugins.State { return taken }
func (e Assigned) apply(r *Record, now time.Time) (string, bool) {
	r.Tried = slices.DeleteFunc(r.Tried, func(id string) bool { return id == r.Resource })
	r.keepPast(Past{State: plugins.Cancelled, Reason: "assigned to " + e.System, Ended: now})
	r.again(now)
	p := &r.Past[len(r.Past)-1]
	p.Assigned, p.Holding, p.Until = e.System, held, now.Add(heldTime)
	r.State, r.Updated = plugins.Intended, now
	r.Reason = "has a place at " + e.System
	return "to " + e.System + " by " + p.At, true
}

// Returned is that the job was not taken where a tree of managers had got it a place. The place is given back, and the tree
// is asked for another one.
type Returned struct{ Why string }

func (Returned) name() string          { return "returned" }
func (Returned) from() []plugins.State { return kept }
func (e Returned) apply(r *Record, now time.Time) (string, bool) {
	p := assigned(r)
	if p == nil {
		return "", false
	}
	r.Owner, r.Choices, r.Reason = "", nil, fmt.Sprintf("%s, where %s had a place for it, did not take it: %s", p.Assigned, p.At, e.Why)
	r.Tried = slices.DeleteFunc(r.Tried, func(id string) bool { return id == r.Resource }) // which may have room the next time
	leave(r)
	n := returns(r)
	if n >= mostReturns {
		r.State, r.Ended = plugins.Failed, now
	}
	r.NotBefore = now.Add(time.Duration(max(n, 1)) * supplyAgain)
	return r.Reason, true
}

// Vacated is that trees of managers know that the places of attempts are free.
type Vacated struct{ Attempts []int }

func (Vacated) name() string          { return "vacated" }
func (Vacated) from() []plugins.State { return every }
func (e Vacated) apply(r *Record, _ time.Time) (string, bool) {
	text := ""
	for i := range r.Past {
		if p := &r.Past[i]; slices.Contains(e.Attempts, p.Number) && p.Holding != "" {
			p.Holding, p.Until = "", time.Time{}
			text = "the place at " + p.Assigned
		}
	}
	return text, text != ""
}

// CancelAsked is that the user wants the job to end. One that was never sent
// ends at once. Why is what else asks for it.
type CancelAsked struct{ Why string }

func (CancelAsked) name() string          { return "cancel" }
func (CancelAsked) from() []plugins.State { return living }
func (e CancelAsked) apply(r *Record, now time.Time) (string, bool) {
	r.Cancelled = now
	if r.State == plugins.Intended {
		r.State, r.Ended, r.Reason = plugins.Cancelled, now, "cancelled before it was sent"
	}
	settled(r)
	return e.Why, true
}

// Renewed is that the credential delegated for the job is a new one.
type Renewed struct{}

func (Renewed) name() string                            { return "renew" }
func (Renewed) from() []plugins.State                   { return taken }
func (Renewed) apply(*Record, time.Time) (string, bool) { return "delegated credential renewed", true }
