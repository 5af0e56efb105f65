package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"gridbroker/batch"
)

// Accountant tells how jobs ended that the batch system's queue does not show
// any more.
type Accountant interface {
	// Endings lists the jobs that ended since a time; more of them do no harm.
	Endings(ctx context.Context, since time.Time) ([]batch.Ending, error)
}

// endingsBack is how much further back than the last look accounting is asked:
// it writes a little late.
const endingsBack = time.Minute

// follow brings the model up to date with a look, and foretells. The model is
// kept from look to look: an event that happens as foretold changes nothing in
// it, and what it learned stays.
func (a *Agent) follow(ctx context.Context, s batch.State) (batch.State, *batch.Forecast, error) {
	if a.live == nil {
		if err := a.begin(s); err != nil {
			return s, nil, err
		}
	} else {
		did, err := a.live.Sync(s, a.endings(ctx, s)...)
		if _, past := errors.AsType[*batch.PastError](err); past { // its clock was set back
			err = a.begin(s)
		}
		if err != nil {
			return s, nil, err
		}
		a.Meter.synced(did)
	}
	f := a.live.Snapshot()
	a.foretold.Store(f)
	return a.live.State(), f, nil
}

// begin sets the model up, with what was learned so far.
func (a *Agent) begin(s batch.State) error {
	var memory []byte
	if a.live != nil {
		memory, _ = a.live.Memory()
	} else if a.recalled != nil {
		memory = a.recalled.Learned
	}
	live, err := a.Forecast.Live(s)
	if err != nil {
		return err
	}
	if len(memory) > 0 {
		if err := live.Recall(memory); err != nil {
			a.Log.Warn("what was learned before is lost", "error", err)
		}
	}
	a.live = live
	return nil
}

// endings asks accounting where jobs are gone from the queue.
func (a *Agent) endings(ctx context.Context, s batch.State) []batch.Ending {
	if a.Account == nil {
		return nil
	}
	there := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		there[s.Jobs[i].ID] = true
	}
	was := a.live.State()
	if !slices.ContainsFunc(was.Jobs, func(j batch.Job) bool { return !there[j.ID] }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	list, err := a.Account.Endings(ctx, was.Now.Add(-endingsBack))
	if err != nil { // the model guesses
		a.Log.Info("accounting does not answer", "error", err)
		a.Meter.unaccounted.Inc()
	}
	return list
}
