package jobs

import (
	"cmp"
	"time"

	"gridbroker/plugins"
)

// What happens to a job that is kept and not sent.

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
type GaveUp struct {
	Why   string
	Fault plugins.Fault // of the last refusal
}

func (GaveUp) name() string          { return "give up" }
func (GaveUp) from() []plugins.State { return kept }
func (e GaveUp) apply(r *Record, now time.Time) (string, bool) {
	r.State, r.Owner, r.Choices, r.Ended = plugins.Failed, "", nil, now
	r.Reason, r.Fault = "nobody took it; the last said: "+e.Why, e.Fault
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
