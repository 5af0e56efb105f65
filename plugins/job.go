package plugins

import (
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// State is where a job is, in one vocabulary for all back-ends.
type State string

// The states, in the order a job goes through them. Done, Failed, Cancelled
// and Lost are final.
const (
	Intended   State = "intended"   // recorded here, no request sent yet
	Submitting State = "submitting" // request sent, outcome not known
	Accepted   State = "accepted"   // the back-end has it
	Preparing  State = "preparing"  // stage-in
	Queued     State = "queued"     // in the LRMS
	Running    State = "running"
	Held       State = "held"
	Finishing  State = "finishing" // stage-out
	Done       State = "done"      // ran to its end; look at the exit code
	Failed     State = "failed"    // did not run to its end
	Cancelled  State = "cancelled"
	Lost       State = "lost"    // the back-end no longer knows it
	Unknown    State = "unknown" // could not be asked: never a verdict
)

// Final reports whether the job will not change any more.
func (s State) Final() bool {
	return s == Done || s == Failed || s == Cancelled || s == Lost
}

// Fault says whose the failure of a job is.
type Fault string

// The faults. One that nobody can tell is "".
const (
	JobsFault  Fault = "job"  // its own: it would fail anywhere
	SitesFault Fault = "site" // the resource's: another may run it
	// CredentialsFault: the site did not, or no longer, accept the user's
	// standing or credential.
	CredentialsFault Fault = "credential"
)

// Handle names a job at its back-end.
type Handle struct {
	Interface string `json:"interface"` // glue.Interface...: which back-end
	Endpoint  string `json:"endpoint"`  // URL
	ID        string `json:"id"`        // the back-end's own id
	// Owner is as whom it was submitted, where jobs are shown to their owner
	// only and a person may be several; "" elsewhere.
	Owner string `json:"owner,omitempty"`
}

// Request asks for one job to be started.
type Request struct {
	ID       string // our id; travels in the job's name so that Find can look it up
	Job      *jdl.Job
	Resource *glue.Resource
	Endpoint glue.Endpoint
	Booking  *Booking // the slot it is sent ahead for; nil: it starts when it can
	For      string   // the id of an earlier request at this endpoint, the place that came of which was of no use; "": none
}

// Booking is what a site is told of the slot of a job that is sent ahead. What a
// back-end cannot say to its batch system it leaves out. Times count from when Submit is
// called, so that clocks and time zones do not matter.
type Booking struct {
	Begin       time.Duration // it does not start before; 0: at once
	Deadline    time.Duration // it is given up when it would not end before; 0: never
	Reservation string        // the site's name of what is reserved for it; may be empty
	Nice        int           // it gives way to others by as much; 0: as everybody
}

// After is a booking when some time has gone by since Submit was called.
func (b *Booking) After(took time.Duration) *Booking {
	later := *b
	if later.Begin = max(0, b.Begin-took); b.Deadline > 0 {
		later.Deadline = max(time.Second, b.Deadline-took)
	}
	return &later
}

// Result is the outcome of one Request. Err is nil, or an *Error.
type Result struct {
	ID     string
	Handle Handle
	Err    error
	Took   time.Duration // from the request until the job is in the site's queue, where that is longer than Submit took; 0: it is not
}

// Status is what a back-end says of a job. Times are zero when not known.
type Status struct {
	Handle                    Handle
	State                     State
	Native                    string // the back-end's own word
	ExitCode                  glue.Opt[int]
	Reason                    string // why it waits, is held or failed, in the back-end's words
	Fault                     Fault  // whose a failure is
	Node                      string
	Submitted, Started, Ended time.Time
	WallTime, CPUTime         time.Duration
	MaxMemory                 int64     // kB; 0: not known
	Expires                   time.Time // when the back-end removes its files
	// Err is set when this one job could not be asked about; State is then
	// Unknown, or Lost when the back-end answered that it has no such job.
	Err error
}
