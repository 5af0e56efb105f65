package plugins

import (
	"context"

	"gridbroker/batch"
)

// Rules are those by which a batch system decides what starts, as far as the
// account that reads them is told.
type Rules struct {
	Policy batch.Policy
	// Unmodelled names what decides there and the policy leaves out.
	Unmodelled []string
	// Hidden: the account is not shown the jobs of others, so what is seen of the
	// queue is not all that the batch system decides by.
	Hidden bool
}

// RulesReader is a QueueReader that can tell how its batch system schedules.
type RulesReader interface {
	Rules(ctx context.Context) (Rules, error)
}
