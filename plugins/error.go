package plugins

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gridbroker/foreign"
)

// Kind is what an error means for the next step.
type Kind uint8

// The kinds of failure.
const (
	Refused     Kind = iota + 1 // it said no: try the next resource
	Unavailable                 // it could not be reached or is broken: try the next, remember
	Uncertain                   // the request may have arrived: stop, look it up
	Credential                  // it does not accept our credential
	Invalid                     // it cannot be given the job as described: try another kind of back-end
)

func (k Kind) String() string {
	switch k {
	case Refused:
		return "refused"
	case Unavailable:
		return "unavailable"
	case Uncertain:
		return "uncertain"
	case Credential:
		return "credential"
	case Invalid:
		return "invalid"
	}
	return "unknown"
}

// ErrKeys is the cause where a host takes no key for SSH: certificates and tokens
// are not shown there.
var ErrKeys = errors.New("no key was taken")

// ErrNoRight is the cause where a service knows who asks, and lets somebody else do what is asked.
var ErrNoRight = errors.New("not allowed")

// Error is a back-end's failure, with the server's own words.
type Error struct {
	Kind     Kind
	Op       string        // what was being done: "submit", "upload data.txt"
	Endpoint string        // host or URL
	Said     string        // the server's words; may be empty
	Hint     string        // what to do next; may be empty
	RetryIn  time.Duration // when the server wants to be asked again; 0: it does not say
	Err      error         // the cause below; may be nil
}

// Error implements error: "op endpoint: what it said (hint)".
func (e *Error) Error() string {
	msg := e.Said
	switch {
	case errors.Is(e.Err, context.Canceled):
		msg = "interrupted" // the server is not to blame, nor the address that was asked
	case msg == "" && e.Err != nil:
		msg = e.Err.Error()
	}
	if msg == "" {
		msg = e.Kind.String()
	}
	at := strings.TrimSuffix(foreign.Text(e.Endpoint), ":") // "slurm:" is "slurm" here
	s := fmt.Sprintf("%s %s: %s", foreign.Text(e.Op), at, foreign.Message(msg))
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// RetryAfter is in how many seconds a server wants to be asked again (RFC 9110, section 10.2.3); unsaid where it does not
// say, or not in whole seconds within a day.
func RetryAfter(h http.Header, unsaid time.Duration) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 || s > 24*3600 {
		return unsaid
	}
	return time.Duration(s) * time.Second
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
