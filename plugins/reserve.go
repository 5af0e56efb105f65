package plugins

import (
	"context"
	"time"
)

// Kept is what a reservation keeps: processors of nodes, by the nodes' names,
// for some time.
type Kept struct {
	From, To time.Time
	CPUs     map[string]int
}

// Reserver is a QueueReader that can make and remove reservations of its batch
// system, with the rights of the account that it reads with and for the jobs of
// that account. Names are the caller's: letters, digits, _ and -. Methods may be called
// at the same time.
type Reserver interface {
	// Reserve keeps processors of nodes for the jobs that name it. One that is
	// there already is no error.
	Reserve(ctx context.Context, name string, k Kept) error
	// Reserved lists the reservations whose names begin so.
	Reserved(ctx context.Context, prefix string) ([]string, error)
	// Release removes one; one that is not there is no error.
	Release(ctx context.Context, name string) error
}
