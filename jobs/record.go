package jobs

import (
	"fmt"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Record is all that is kept of one job.
type Record struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	File   string `json:"file,omitempty"`   // the description's file
	JDL    string `json:"jdl"`              // the description of this one job
	Parent string `json:"parent,omitempty"` // id of the collection or DAG it belongs to
	Node   string `json:"node,omitempty"`   // its name in there
	// MaxRunning is how many jobs of the parent may be at back-ends at once; 0: all.
	MaxRunning int    `json:"max_running,omitempty"`
	Origin     Origin `json:"origin,omitzero"` // where to look for resources
	// After lists the ids of jobs that must be done before this one starts.
	After []string `json:"after,omitempty"`

	State  plugins.State `json:"state"`
	Native string        `json:"native,omitempty"` // the back-end's own word
	Reason string        `json:"reason,omitempty"`
	// Owner names the submitting process while it lives (see Store.lease).
	Owner string `json:"owner,omitempty"`

	Slots     int            `json:"slots,omitempty"`    // it takes; 0: one
	Resource  string         `json:"resource,omitempty"` // ID of the resource it was sent to
	At        string         `json:"at,omitempty"`       // its short name
	Site      string         `json:"site,omitempty"`
	Handle    plugins.Handle `json:"handle,omitzero"`
	Past      []Past         `json:"past,omitempty"` // earlier attempts that reached a back-end
	Attempts  int            `json:"attempts"`       // requests sent so far
	Tried     []string       `json:"tried,omitempty"`
	Choices   []Choice       `json:"choices,omitempty"`   // not tried yet, best first
	Predicted float64        `json:"predicted,omitempty"` // seconds from Sent to completion
	Cancelled time.Time      `json:"cancelled,omitzero"`  // when the user asked for it
	Retries   int            `json:"retries"`             // deep and shallow resubmissions made
	Shallow   int            `json:"shallow"`
	NoRetry   bool           `json:"no_retry,omitempty"`  // nothing is left to try
	Unmatched time.Time      `json:"unmatched,omitzero"`  // since when no resource takes it
	NotBefore time.Time      `json:"not_before,omitzero"` // when it is planned again

	ExitCode  *int          `json:"exit_code,omitempty"`
	Host      string        `json:"host,omitempty"` // the node it ran on
	Created   time.Time     `json:"created"`
	Sent      time.Time     `json:"sent,omitzero"` // the last request
	Submitted time.Time     `json:"submitted,omitzero"`
	Started   time.Time     `json:"started,omitzero"`
	Ended     time.Time     `json:"ended,omitzero"`
	Updated   time.Time     `json:"updated"` // when the back-end was last asked, to the minute
	Expires   time.Time     `json:"expires,omitzero"`
	WallTime  time.Duration `json:"wall_time,omitempty"`
	CPUTime   time.Duration `json:"cpu_time,omitempty"`
	MaxMemory int64         `json:"max_memory,omitempty"` // kB
	Output    string        `json:"output,omitempty"`     // where the output was brought

	job   *jdl.Job // read already, or nil
	err   error    // of the last thing done with it in this process
	files []string // just brought
	asked bool     // its back-end answered in this process
}

// Err is what went wrong with the job in the last call that was about it,
// nil where nothing did.
func (r *Record) Err() error { return r.err }

// Asked reports whether State is fresh from the back-end.
func (r *Record) Asked() bool { return r.asked || r.Final() }

// Job reads the description.
func (r *Record) Job() (*jdl.Job, error) {
	if r.job == nil {
		job, err := jdl.LoadJob(r.JDL)
		if err != nil {
			return nil, fmt.Errorf("job %s: its recorded description: %w", r.ID, err)
		}
		job.File = r.File
		r.job = job
	}
	return r.job, nil
}

// Past is an attempt that is over.
type Past struct {
	Resource string         `json:"resource"`
	Handle   plugins.Handle `json:"handle"`
	State    plugins.State  `json:"state"`
	Reason   string         `json:"reason,omitempty"`
}

// Choice is a resource a job may be offered to.
type Choice struct {
	Resource  string        `json:"resource"`
	At        string        `json:"at"`
	Site      string        `json:"site,omitempty"`
	Score     float64       `json:"score"`
	Predicted float64       `json:"predicted,omitempty"` // seconds to completion
	Endpoint  glue.Endpoint `json:"endpoint"`
	// Unproven is whether the resource gets a few jobs only until it has
	// shown that it runs them (see Scouts).
	Unproven bool `json:"unproven,omitempty"`

	ranked *rank.Ranked // of this process's plan, or nil
}

// requestID names the current attempt at the back-end.
func (r *Record) requestID() string { return requestID(r.ID, r.Attempts) }

// Final reports whether the job will not change any more.
func (r *Record) Final() bool { return r.State.Final() }

// Failure reports whether the job ended other than by success.
func (r *Record) Failure() bool {
	return r.Final() && (r.State != plugins.Done || r.ExitCode != nil && *r.ExitCode != 0)
}

// Entry is one line of the log of a job: an action of ours, or a change of
// state that was seen.
type Entry struct {
	Job    string    `json:"job"`
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Text   string    `json:"text"`
}
