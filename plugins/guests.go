package plugins

import (
	"context"
	"time"
)

// Guests is how jobs of a central scheduler's users are started at a batch
// system, beside those of its own users.
type Guests struct {
	Reservations bool          // each in a reservation of its own
	Partition    string        // all in this partition; "": not in one of their own
	TTL          time.Duration // what local jobs may lose by a guest at most
}

// GuestFinding is one thing that was looked at. Bad ones keep guests from
// starting in time, the others are good to know.
type GuestFinding struct {
	Bad  bool
	Text string
}

// GuestChecker is a QueueReader that can tell whether the account it reads
// with sees all jobs, and may start guests in this way. Nothing is changed.
type GuestChecker interface {
	CheckGuests(ctx context.Context, g Guests) ([]GuestFinding, error)
}
