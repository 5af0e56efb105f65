package jobs

import (
	"slices"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

// What happens to a job that a place was asked to take, until it is known what
// became of that.

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

// Unfit is that a kind of computing element cannot be given the job as it is described: it may be offered to others.
type Unfit struct {
	Why    string
	Others []Choice
}

func (Unfit) name() string          { return "invalid" }
func (Unfit) from() []plugins.State { return asked }
func (e Unfit) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Reason, r.Choices = plugins.Intended, "", e.Why, e.Others
	r.keepPast(Past{State: plugins.Failed, Reason: e.Why, Ended: now})
	return e.Why, true
}

// Invalid is that no kind of computing element that the job has left can be given it as it is described.
type Invalid struct{ Why string }

func (Invalid) name() string          { return "invalid" }
func (Invalid) from() []plugins.State { return asked }
func (e Invalid) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Reason, r.Ended, r.NoRetry, r.Fault = plugins.Failed, "", e.Why, now, true, plugins.JobsFault
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
