package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

// Store keeps jobs. Many processes may use one at once; every call is one
// transaction, and what it changed is safe when it returns.
type Store interface {
	// Add records new jobs, all or none.
	Add(ctx context.Context, rs []*Record) error
	// Update changes jobs: f sees each record as it is now, changed by other
	// processes or not, and says what it did. The records passed in are
	// brought up to date. One error per record: f's own, *GoneError for a job
	// that another process has removed, *DamagedError for a record that cannot
	// be read; such jobs are left as they are and the others go on.
	Update(ctx context.Context, rs []*Record, f func(*Record) (Change, error)) ([]error, error)
	// Note adds a line to the logs of jobs.
	Note(ctx context.Context, rs []*Record, action string, text func(*Record) string) error
	// Delete forgets jobs and their logs.
	Delete(ctx context.Context, rs []*Record) error
	// Log returns the entries of a job, oldest first.
	Log(ctx context.Context, id string) ([]Entry, error)
	// Select returns jobs in the order of their ids, which is that of their
	// submission, or the other way round. With records that cannot be read the
	// others are returned, and a *DamagedError.
	Select(ctx context.Context, q Query) ([]*Record, error)
	// Count tells how many records a query finds, those that cannot be read
	// among them; its Limit does not count.
	Count(ctx context.Context, q Query) (int, error)
	// Find returns the jobs with the given ids, in that order. An id may be
	// cut to a beginning or an end that is its alone; the id of a collection
	// means all its jobs. What is found comes together with an *UnfoundError
	// where an id is of none or of several, or a record cannot be read.
	Find(ctx context.Context, ids []string) ([]*Record, error)
	// UnderWay lists the jobs made since a time that a back-end has or may
	// have, by resource ID; those of which it is not known are not among them.
	UnderWay(ctx context.Context, since time.Time) (map[string][]broker.Sent, error)
	// Lease is held by a process while it submits, so that another one does
	// not take its jobs for those of a process that died.
	Lease(name string) (Lease, error)
	// Alive reports whether the process that took a lease still has it.
	Alive(name string) bool
	// Reserve sets space aside for what is to be recorded of jobs after they
	// have been sent. Without it nothing may be sent.
	Reserve(jobs int) (Reserve, error)
	Close() error
}

// Lease is the sign that a process lives.
type Lease interface {
	Name() string
	End()
}

// Reserve is space set aside.
type Reserve interface {
	Free() // makes it available
}

// Query selects jobs; zero fields do not restrict.
type Query struct {
	States []plugins.State
	Since  time.Time // created then or later
	Made   time.Time // with an id that was made then or later, which is found sooner
	Parent string
	Live   bool      // not final
	Loose  time.Time // with an attempt that is looked up until later than that
	// Limit is how many readable records are read at most; 0: all. What lies
	// behind them is not looked at: a damaged one is not told of.
	Limit     int
	Backwards bool // the last ones first
	// Again is for who asks again and again: a record that is stored as it was when it was read or written is not read
	// anew, but one of Had is given again. Had are those that this query gave the last time. A damaged record counts for Limit.
	Again bool
	Had   []*Record
}

// Entry is one line of the log of a job: an action of ours, or a change of
// state that was seen.
type Entry struct {
	Job    string    `json:"job"`
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Text   string    `json:"text"`
}

// GoneError is that another process has removed a job's record.
type GoneError struct{ ID string }

// Error implements error.
func (e *GoneError) Error() string {
	return fmt.Sprintf("job %s: its record was removed meanwhile", e.ID)
}

// DamagedError names records that cannot be read.
type DamagedError struct {
	IDs []string
	Err error // of the first
}

// Error implements error.
func (e *DamagedError) Error() string {
	ids, more := e.IDs, ""
	if len(ids) > 4 {
		ids, more = ids[:4], fmt.Sprintf(" and %d more", len(e.IDs)-4)
	}
	return fmt.Sprintf("the record of job %s%s is damaged (%v) and left out; grid store check says more", strings.Join(ids, ", "), more, e.Err)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// UnrecordedError is that jobs were sent and what became of them could not be
// recorded: they may be at their back-ends.
type UnrecordedError struct {
	IDs []string
	Err error
}

// Error implements error.
func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("what became of %d jobs that were sent could not be recorded: %v (they may be at their resources: grid status asks; do not send them again)", len(e.IDs), e.Err)
}

// Unwrap returns the cause.
func (e *UnrecordedError) Unwrap() error { return e.Err }
