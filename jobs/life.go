package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// The life of a job. This file is the only one that gives a job its state.

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

// Recorded is that a job is written down.
type Recorded struct{}

func (Recorded) name() string          { return "intend" }
func (Recorded) from() []plugins.State { return fresh }
func (Recorded) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Created = plugins.Intended, now
	return r.Name, true
}

// Planned is that a job has got its choices.
type Planned struct{ Choices []Choice }

func (Planned) name() string          { return "plan" }
func (Planned) from() []plugins.State { return kept }
func (e Planned) apply(r *Record, _ time.Time) (string, bool) {
	r.Choices = e.Choices
	return "", false
}

// KeptBack is that a job waits for the first ones at a resource.
type KeptBack struct{ At string }

func (KeptBack) name() string          { return "keep back" }
func (KeptBack) from() []plugins.State { return kept }
func (e KeptBack) apply(r *Record, _ time.Time) (string, bool) {
	r.Reason = "waits until the first jobs at " + e.At + " have shown that it runs them"
	return "", false
}

// unwatched is how late a look may be that counts as one in time: longer nobody
// looked, as the machine slept or nobody followed, and that is no patience used up.
const unwatched = 5 * time.Minute

// Unmatched is that no resource takes the job. It fails, unless there is hope
// that one will before a deadline: then it is planned again at Next.
type Unmatched struct {
	Why      string
	Hope     bool
	Patience time.Duration // from when it was first unmatched
	Expiry   time.Time     // zero: none
	Next     time.Duration
}

func (Unmatched) name() string          { return "no match" }
func (Unmatched) from() []plugins.State { return kept }
func (e Unmatched) apply(r *Record, now time.Time) (string, bool) {
	r.Reason = e.Why
	first := r.Unmatched.IsZero()
	if first || r.Unmatched.After(now) { // the clock was set back
		r.Unmatched = now
	} else if idle := now.Sub(r.NotBefore); idle > unwatched {
		r.Unmatched = r.Unmatched.Add(idle)
	}
	end := r.Unmatched.Add(e.Patience)
	if !e.Expiry.IsZero() && e.Expiry.Before(end) {
		end = e.Expiry
	}
	if !e.Hope || !now.Before(end) {
		r.State, r.Ended, r.NoRetry = plugins.Failed, now, true
		return r.Reason, true
	}
	r.NotBefore = now.Add(e.Next)
	if !first {
		return "", false
	}
	return r.Reason + "; looked for again", true
}

// Supplied is that the files which the job takes from other nodes of its DAG lie here.
type Supplied struct{ What string }

func (Supplied) name() string          { return "input" }
func (Supplied) from() []plugins.State { return kept }
func (e Supplied) apply(r *Record, _ time.Time) (string, bool) {
	r.Reason, r.Unmatched, r.NotBefore = "", time.Time{}, time.Time{}
	return e.What, true
}

// supplyAgain is the time between the first two looks for a file of another node.
const supplyAgain = 5 * time.Second

// SupplyLate is that a file which the job takes from another node cannot be had now. It is
// looked for again, after longer and longer times.
type SupplyLate struct{ Why string }

func (SupplyLate) name() string          { return "no input" }
func (SupplyLate) from() []plugins.State { return kept }
func (e SupplyLate) apply(r *Record, now time.Time) (string, bool) {
	first := r.Unmatched.IsZero()
	if first || r.Unmatched.After(now) { // the clock was set back
		r.Unmatched = now
	}
	r.Reason, r.NotBefore = e.Why, now.Add(min(lookAgain, max(supplyAgain, now.Sub(r.Unmatched))))
	return r.Reason + "; looked for again", first
}

// Blocked is that a job this one comes after has failed, or that its whole DAG is over.
type Blocked struct{ Why string }

func (Blocked) name() string          { return "failed" }
func (Blocked) from() []plugins.State { return kept }
func (e Blocked) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Ended, r.NoRetry = plugins.Failed, now, true
	r.Reason = cmp.Or(e.Why, "a job it comes after has failed")
	return r.Reason, true
}

// GaveUp is that no resource is left to offer the job to.
type GaveUp struct{ Why string }

func (GaveUp) name() string          { return "give up" }
func (GaveUp) from() []plugins.State { return kept }
func (e GaveUp) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Choices, r.Ended = plugins.Failed, "", nil, now
	r.Reason = "nobody took it; the last said: " + e.Why
	return r.Reason, true
}

// Unsure is that the record comes from a copy, a backup or a damaged file, in which the job
// had not been sent: it may have been since, so it does not go by itself, and where it is sent
// again by a name that was surely never used.
type Unsure struct{}

func (Unsure) name() string          { return "from backup" }
func (Unsure) from() []plugins.State { return kept }
func (Unsure) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Choices, r.Ended, r.Spared = plugins.Failed, "", nil, now, r.Spared+otherAttempts
	r.Reason = "the record comes from a copy, a backup or a damaged file, in which the job was not yet sent; it may have been since: look there before grid resubmit"
	return r.Reason, true
}

// Claimed is that a process is about to send the job. Nothing leaves before it
// is on disk.
type Claimed struct {
	Owner      string // its lease
	Choice     Choice
	BrokerInfo string // what Record.BrokerInfo becomes
}

func (Claimed) name() string          { return "send" }
func (Claimed) from() []plugins.State { return kept }
func (e Claimed) apply(r *Record, now time.Time) (string, bool) {
	c := e.Choice
	r.State, r.Owner, r.Sent, r.Reason, r.Native = plugins.Submitting, e.Owner, now, "", ""
	r.Resource, r.At, r.Site, r.Predicted, r.Guessed, r.StartOdds = c.Resource, c.At, c.Site, c.Predicted, c.Guessed, c.StartOdds
	r.Environments = c.Environments
	r.BrokerInfo = e.BrokerInfo
	r.Handle = plugins.Handle{Interface: c.Endpoint.Interface, Endpoint: c.Endpoint.URL}
	r.Attempts++
	r.Attempt = r.Attempts + r.Spared
	r.Tried = append(r.Tried, c.Resource)
	r.Choices = after(r.Choices, c.Resource)
	r.Unmatched, r.NotBefore, r.TakenBack = time.Time{}, time.Time{}, time.Time{}
	r.certain()
	return "to " + c.At + " at " + c.Endpoint.URL + " as " + r.requestID(), true
}

// Released is that the process that held the job has ended before it sent it.
type Released struct{}

func (Released) name() string          { return "release" }
func (Released) from() []plugins.State { return kept }
func (Released) apply(r *Record, _ time.Time) (string, bool) {
	r.Owner = ""
	return "", false
}

// Withdrawn is that the user interrupted before the request left: it is as if
// the job had not been claimed.
type Withdrawn struct{ Choice Choice }

func (Withdrawn) name() string          { return "interrupted" }
func (Withdrawn) from() []plugins.State { return asked }
func (e Withdrawn) apply(r *Record, _ time.Time) (string, bool) {
	r.State, r.Owner, r.Sent = plugins.Intended, "", time.Time{}
	r.Choices = append([]Choice{e.Choice}, r.Choices...)
	r.untry(e.Choice.Resource)
	r.nowhere()
	return "before it was sent to " + e.Choice.At, true
}

// Accepted is that the back-end has taken the job.
type Accepted struct{ Handle plugins.Handle }

func (Accepted) name() string          { return "accepted" }
func (Accepted) from() []plugins.State { return asked }
func (e Accepted) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Handle, r.Submitted, r.Reason, r.Choices = plugins.Accepted, "", e.Handle, now, "", nil
	r.certain()
	return "as " + e.Handle.ID, true
}

// Refused is that the job was not taken: it may be offered to the next.
type Refused struct {
	Kind plugins.Kind
	Why  string
}

func (e Refused) name() string        { return e.Kind.String() }
func (Refused) from() []plugins.State { return asked }
func (e Refused) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Reason = plugins.Intended, "", e.Why
	r.keepPast(Past{State: plugins.Failed, Reason: e.Why, Ended: now})
	return e.Why, true
}

// Invalid is that the job cannot run anywhere as it is described.
type Invalid struct{ Why string }

func (Invalid) name() string          { return "invalid" }
func (Invalid) from() []plugins.State { return asked }
func (e Invalid) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Reason, r.Ended, r.NoRetry = plugins.Failed, "", e.Why, now, true
	return e.Why, true
}

// Unanswered is that the request left and no answer came: it may have
// arrived, or may still do so.
type Unanswered struct {
	Why string
	At  clock.Reading // when that became known
}

func (Unanswered) name() string          { return "uncertain" }
func (Unanswered) from() []plugins.State { return asked }
func (e Unanswered) apply(r *Record, now time.Time) (string, bool) {
	r.Owner, r.Reason, r.Uncertain, r.Since = "", e.Why, now, e.At
	return e.Why, true
}

// NotFound is that the back-end was asked and does not have the job. It stays
// uncertain until it has been looked up after the last moment at which it
// could still arrive; then the attempt is over, and is looked up for a while
// all the same.
type NotFound struct {
	Asked  clock.Reading // before the question left
	Settle time.Duration // for how long the request may still arrive
}

func (NotFound) name() string          { return "not found" }
func (NotFound) from() []plugins.State { return asked }
func (e NotFound) apply(r *Record, now time.Time) (string, bool) {
	passed, ok := e.Asked.Since(r.Since)
	if r.Uncertain.IsZero() || !ok {
		// Nobody has noted when, or another machine has: it counts from now.
		r.Uncertain, r.Since = now, e.Asked
		return "", false
	}
	if passed < e.Settle {
		return "", false
	}
	why := "never arrived at " + r.Handle.Endpoint
	r.stray(why, now)
	r.untry(r.Resource)
	r.State, r.Owner, r.Reason = plugins.Intended, "", why
	r.nowhere()
	if r.NoRetry { // others may have sent it again
		return Unsure{}.apply(r, now)
	}
	return why, true
}

// Found is that the back-end has the job under the name of an attempt: the
// present one, or an earlier one that was given up as not arrived.
type Found struct {
	Attempt int
	Handle  plugins.Handle
	Why     string // what is wrong with it all the same; "": nothing
}

func (Found) name() string          { return "found" }
func (Found) from() []plugins.State { return slices.Concat(kept, asked) }
func (e Found) apply(r *Record, now time.Time) (string, bool) {
	if e.Attempt != r.number() || r.State != plugins.Submitting {
		if r.State == plugins.Submitting {
			r.stray("another attempt has arrived", now)
		}
		r.adopt(e.Attempt)
	}
	r.State, r.Handle, r.Owner, r.Reason, r.Choices = plugins.Accepted, e.Handle, "", e.Why, nil
	r.Unmatched, r.NotBefore = time.Time{}, time.Time{}
	r.certain()
	if r.Submitted.IsZero() {
		r.Submitted = r.Sent
	}
	return "it had arrived as " + e.Handle.ID, true
}

// StrayEnded is that an attempt which was given up, and turned up when the job
// had gone on elsewhere, has been cancelled.
type StrayEnded struct {
	Attempt int
	Handle  plugins.Handle
}

func (StrayEnded) name() string          { return "stray" }
func (StrayEnded) from() []plugins.State { return every }
func (e StrayEnded) apply(r *Record, now time.Time) (string, bool) {
	for i := range r.Past {
		if p := &r.Past[i]; p.Number == e.Attempt {
			p.State, p.Handle, p.Ended, p.Until = plugins.Cancelled, e.Handle, now, time.Time{}
			p.Reason = "it arrived late and was cancelled"
		}
	}
	return "attempt " + requestID(r.ID, e.Attempt) + " arrived late as " + e.Handle.ID + " and was cancelled", true
}

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

// Renewed is that the credential delegated for the job is a new one.
type Renewed struct{}

func (Renewed) name() string                            { return "renew" }
func (Renewed) from() []plugins.State                   { return taken }
func (Renewed) apply(*Record, time.Time) (string, bool) { return "delegated credential renewed", true }

// Vanished is that another process has removed the job's record.
type Vanished struct{}

func (Vanished) name() string          { return "removed" }
func (Vanished) from() []plugins.State { return every }
func (Vanished) apply(r *Record, _ time.Time) (string, bool) {
	r.State, r.Reason, r.NoRetry = plugins.Lost, "its record was removed meanwhile", true
	return r.Reason, true
}

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
