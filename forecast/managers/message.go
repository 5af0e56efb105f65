package managers

import (
	"errors"
	"fmt"
	"slices"
)

// ID names a job among those of its broker. Among jobs of one moment the shorter, then the lesser in bytes, is first.
type ID string

// Key names a job among those of all brokers: who hands one in by the name of another's has made no copy of that.
type Key struct {
	Broker string
	ID     ID
}

// Job is a job's passport as it goes from manager to manager.
type Job struct {
	ID        ID        `json:"id"`
	Broker    string    `json:"broker"` // where its broker answers
	Need      Resources `json:"need"`
	Priority  int       `json:"priority,omitempty"`
	Submitted int64     `json:"submitted"`
	Attempt   int       `json:"attempt,omitempty"` // counts hand-ins by the broker
	Hops      int       `json:"hops,omitempty"`
	Placed    bool      `json:"placed,omitempty"` // goes to a system that could run it when empty, and waits there
	Papers    *Papers   `json:"papers,omitempty"` // nil: none

	from  Neighbour // the link it came by
	block bool      // not to go back over that link for now
}

// Papers are what others know a passport by.
type Papers struct {
	Seal  []byte   `json:"seal"`            // its broker's signature of all that no manager changes
	Chain [][]byte `json:"chain,omitempty"` // the broker's certificates, its own first, in DER
}

// Key is what the job is known by.
func (j *Job) Key() Key { return Key{j.Broker, j.ID} }

// before orders a queue: by priority, then submission, then id.
func (j *Job) before(o *Job) bool {
	switch {
	case j.Priority != o.Priority:
		return j.Priority > o.Priority
	case j.Submitted != o.Submitted:
		return j.Submitted < o.Submitted
	case len(j.ID) != len(o.ID):
		return len(j.ID) < len(o.ID)
	}
	return j.ID < o.ID
}

// Neighbour is the number of a link at one manager; Here stands for none.
type Neighbour int

// Here is the neighbour of events that came over no link.
const Here Neighbour = -1

// Message goes over a link: a change if Job is nil, else a request, which may carry a change.
type Message struct {
	Job   *Job   `json:"job,omitempty"`
	Rooms Set    `json:"rooms,omitempty"` // of a change: what is free in the sender's direction
	Whole Set    `json:"whole,omitempty"` // of a change: what systems there have when empty; nil if as before
	Seen  uint64 `json:"seen,omitempty"`  // of a change: requests received over this link since it is up
	Pace  int    `json:"pace,omitempty"`  // of a change: the sender is behind and wants changes this many times halved in number
	With  bool   `json:"with,omitempty"`  // of a request: it carries a change
	Leaf  bool   `json:"leaf,omitempty"`  // of a change: the sender is a system that hands its waiting jobs over
	Shape *Shape `json:"shape,omitempty"` // of a change: the tree above; nil if as before
}

// Send is a message to go out.
type Send struct {
	To      Neighbour
	Message Message
}

// Assignment says that a job has got its resources in the manager's own system.
type Assignment struct {
	Job Job
}

// Out is what an event leads to. Its slices are valid until the manager's next event.
type Out struct {
	Sends  []Send
	Starts []Assignment
	Queued []Job // jobs that came to wait here, for their brokers to know
}

// reset empties it for the next event.
func (o *Out) reset() { o.Sends, o.Starts, o.Queued = o.Sends[:0], o.Starts[:0], o.Queued[:0] }

// arrived reports a job that came to wait here.
func (o *Out) arrived(j *Job, isNew bool) {
	if isNew {
		o.Queued = append(o.Queued, *j)
	}
}

// requestsLast moves the first n sends behind the others.
func (o *Out) requestsLast(n int) {
	slices.Reverse(o.Sends[:n])
	slices.Reverse(o.Sends[n:])
	slices.Reverse(o.Sends)
}

var (
	errUnordered = errors.New("amounts out of order")
	errShape     = errors.New("a tree beyond all bounds")
	errName      = errors.New("a name in the tree that is no address")
	errNoLink    = errors.New("message over a link that is not up")
)

// CheckError says that a message from a neighbour makes no sense.
type CheckError struct{ Err error }

func (e *CheckError) Error() string { return fmt.Sprintf("message of a neighbour: %v", e.Err) }

// Unwrap returns the cause.
func (e *CheckError) Unwrap() error { return e.Err }

// Check finds messages that make no sense, before they are handled.
func (m *Message) Check() error {
	if j := m.Job; j != nil {
		if err := j.Check(); err != nil {
			return &CheckError{err}
		}
		if !m.With {
			return nil
		}
	}
	if m.Pace < 0 || m.Pace > maxPace {
		return &CheckError{fmt.Errorf("pace %d: want 0 to %d", m.Pace, maxPace)}
	}
	for _, s := range []Set{m.Rooms, m.Whole} {
		if err := s.Check(); err != nil {
			return &CheckError{err}
		}
		if slices.ContainsFunc(s, func(r Resources) bool { return len(r.Tags) > maxSystemTags }) {
			return &CheckError{fmt.Errorf("more than %d bytes of tags of one system", maxSystemTags)}
		}
	}
	if len(m.Rooms) > maxSet || len(m.Whole) > maxWhole { // of the latter every neighbour's are compared for each
		return &CheckError{fmt.Errorf("more than %d amounts, or kinds of systems than %d", maxSet, maxWhole)}
	}
	if err := m.Shape.Check(); err != nil {
		return &CheckError{err}
	}
	return nil
}

const (
	maxSet  = 1 << 15 // amounts in a set
	maxTags = 4096    // bytes of a job's tags, which go along with it from manager to manager
	maxHops = 1 << 30 // where counting ends
)

// Check finds passports that make no sense.
func (j *Job) Check() error {
	switch {
	case j.ID == "" || len(j.ID) > 256:
		return fmt.Errorf("job id of %d bytes: want 1 to 256", len(j.ID))
	case j.Need.CPUs < 1:
		return fmt.Errorf("job %q: needs no cpus", j.ID)
	case len(j.Need.Tags) > maxTags:
		return fmt.Errorf("job %.80q: %d bytes of tags: want %d at most", j.ID, len(j.Need.Tags), maxTags)
	case j.Hops < 0 || j.Hops > maxHops || j.Attempt < 0:
		return fmt.Errorf("job %q: hops %d, attempt %d", j.ID, j.Hops, j.Attempt)
	}
	return j.Need.Check()
}
