package jobs

import (
	"fmt"
	"slices"
	"time"

	"gridbroker/broker/clock"
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
	// ParentName is the JobGroup of the job, else the parent's JobName.
	ParentName string `json:"parent_name,omitempty"`
	// MaxRunning is how many jobs of the parent may be at back-ends at once; 0: all.
	MaxRunning int `json:"max_running,omitempty"`
	// Category is what the job shares a limit with others of the parent by: at most MaxInCategory jobs of it may be at
	// back-ends at once.
	Category      string `json:"category,omitempty"`
	MaxInCategory int    `json:"max_in_category,omitempty"`
	Origin        Origin `json:"origin,omitzero"` // where to look for resources
	// After lists the ids of jobs that must be done before this one starts.
	After []string `json:"after,omitempty"`

	State  plugins.State `json:"state"`
	Native string        `json:"native,omitempty"` // the back-end's own word
	Reason string        `json:"reason,omitempty"`
	// Owner names the submitting process while it lives (see Store.lease).
	Owner string `json:"owner,omitempty"`

	Slots    int            `json:"slots,omitempty"`    // it takes; 0: one
	Resource string         `json:"resource,omitempty"` // ID of the resource it was sent to
	At       string         `json:"at,omitempty"`       // its short name
	Site     string         `json:"site,omitempty"`
	Handle   plugins.Handle `json:"handle,omitzero"`
	// BrokerInfo is the text of the file .BrokerInfo that goes with the
	// request, for a job that reads one.
	BrokerInfo string `json:"broker_info,omitempty"`
	Past       []Past `json:"past,omitempty"` // attempts that are over
	Attempts   int    `json:"attempts"`       // requests sent so far
	// Spared are numbers of attempts that stay unused: those of requests that
	// may lie where nobody has looked.
	Spared int `json:"spared,omitempty"`
	// Attempt is the number of the present one; 0: the last.
	Attempt   int      `json:"attempt,omitempty"`
	Tried     []string `json:"tried,omitempty"`
	Choices   []Choice `json:"choices,omitempty"`                  // not tried yet, best first
	Predicted float64  `json:"predicted,omitempty" unit:"seconds"` // seconds from Sent to completion
	// Guessed is that nothing told how long the job runs: Predicted rests on an assumption then,
	// which is good for comparing places, and tells nobody when the job ends.
	Guessed bool `json:"guessed,omitempty"`
	// StartOdds are quantiles of the time from Sent to the start, as they were
	// foretold; none where no forecast gave any.
	StartOdds []rank.Quantile `json:"start_odds,omitempty"`
	// Environments tells how the job gets the runtime environments it asks for where it is, and which limits that it asks for
	// are none there.
	Environments []string  `json:"environments,omitempty"`
	Cancelled    time.Time `json:"cancelled,omitzero"` // when the user asked for it
	Retries      int       `json:"retries"`            // deep and shallow resubmissions made
	Shallow      int       `json:"shallow"`
	Moves        int       `json:"moves,omitempty"` // how often it was taken back from a queue
	// TakenBack is since when it is being taken back, or is on its way elsewhere.
	TakenBack time.Time `json:"taken_back,omitzero"`
	// Restarted is since when a job that failed is asked to go on where it is, until it
	// has been seen to.
	Restarted time.Time `json:"restarted,omitzero"`
	NoRetry   bool      `json:"no_retry,omitempty"` // nothing is left to try
	// Adopted is that the job was found at its back-end: what the record says of
	// it, the description too, is the back-end's word.
	Adopted   bool      `json:"adopted,omitempty"`
	Unmatched time.Time `json:"unmatched,omitzero"`  // since when no resource takes it, or a file of another node cannot be had
	NotBefore time.Time `json:"not_before,omitzero"` // when it is planned again

	// Uncertain is since when something about the present attempt is open:
	// whether its request arrived, or why its back-end does not know it. Since
	// is the same by a clock that nobody sets.
	Uncertain time.Time     `json:"uncertain,omitzero"`
	Since     clock.Reading `json:"since,omitzero"`

	Fault     plugins.Fault `json:"fault,omitempty"` // whose a failure is
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
	MaxMemory int64         `json:"max_memory,omitempty" unit:"kb"` // kB
	Output    string        `json:"output,omitempty"`               // where the output was brought
	Scripts   *Scripts      `json:"scripts,omitempty"`              // that run here before and after the job; nil: none
}

// Job reads the description.
func (r *Record) Job() (*jdl.Job, error) {
	if r.JDL == "" {
		return nil, errAdopted(r)
	}
	job, err := jdl.LoadJob(r.JDL)
	if err != nil {
		return nil, fmt.Errorf("job %s: its recorded description: %w", r.ID, err)
	}
	job.File = r.File
	return job, nil
}

// Choice is a resource a job may be offered to.
type Choice struct {
	Resource  string          `json:"resource"`
	At        string          `json:"at"`
	Site      string          `json:"site,omitempty"`
	Score     float64         `json:"score"`
	Predicted float64         `json:"predicted,omitempty" unit:"seconds"` // seconds to completion
	Guessed   bool            `json:"guessed,omitempty"`                  // see Record.Guessed
	StartOdds []rank.Quantile `json:"start_odds,omitempty"`               // of the wait
	Endpoint  glue.Endpoint   `json:"endpoint"`
	// Unproven is whether the resource gets a few jobs only until it has
	// shown that it runs them (see Scouts).
	Unproven bool `json:"unproven,omitempty"`
	// Environments tells how the resource gives the runtime environments the
	// job asks for, and which clause asks; and which limits that it asks for are none there.
	Environments []string `json:"environments,omitempty"`
}

// Final reports whether the job will not change any more.
func (r *Record) Final() bool { return r.State.Final() }

// Failure reports whether the job ended other than by success.
func (r *Record) Failure() bool {
	return r.Final() && (r.State != plugins.Done || r.ExitCode != nil && *r.ExitCode != 0) && !madeGood(r)
}

// clone is a copy that shares nothing which is changed in place.
func (r *Record) clone() *Record {
	c := *r
	c.After, c.Tried = slices.Clone(r.After), slices.Clone(r.Tried)
	c.Past, c.Choices = slices.Clone(r.Past), slices.Clone(r.Choices)
	c.Environments, c.Scripts = slices.Clone(r.Environments), r.Scripts.clone()
	return &c
}
