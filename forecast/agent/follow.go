package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/predict"
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

// outlook is a forecast and what its policy may be instead.
type outlook struct {
	forecast *batch.Forecast
	doubts   []predict.Doubt
}

// follow brings the model up to date with a look, and foretells. The model is
// kept from look to look: an event that happens as foretold changes nothing in
// it, and what it learned stays.
func (a *Agent) follow(ctx context.Context, s batch.State) (batch.State, *batch.Forecast, error) {
	ended := a.endings(ctx, s)
	if a.live == nil {
		if err := a.begin(s); err != nil {
			return s, nil, err
		}
	} else {
		did, err := a.live.Sync(s, ended...)
		if past, is := errors.AsType[*batch.PastError](err); is && past.Now.Sub(past.At) <= a.Conf.TTL { // a look that came out of order
			return a.live.State(), a.live.Snapshot(), nil
		} else if is { // its clock was set back
			err = a.begin(s)
		}
		if err != nil {
			return s, nil, err
		}
		a.Meter.synced(did)
	}
	if err := govern(ctx, a, s, ended); err != nil {
		return s, nil, err
	}
	f := a.live.Snapshot()
	told := &outlook{f, doubts(a.fit)}
	a.foretold.Store(told)
	a.odds.Look(s, ended)
	promise(a, told)
	return a.live.State(), f, nil
}

// promise works out the odds of jobs that were not seen before, which costs
// several runs of the schedule: a tenth of the time goes into it at most.
func promise(a *Agent, o *outlook) {
	began := a.Now()
	if began.Before(a.nextOdds) {
		return
	}
	a.odds.Promise(o.forecast, o.doubts...)
	a.nextOdds = began.Add(10 * a.Now().Sub(began))
	a.Meter.odds(a.odds.Learned())
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
	since, missing := gone(a, s)
	if !missing {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	list, err := a.Account.Endings(ctx, since.Add(-endingsBack))
	if err != nil { // the model guesses
		a.Log.Info("accounting does not answer", "error", err)
		a.Meter.unaccounted.Inc()
	}
	return list
}

// gone tells whether jobs are missing that were there at the last look, also of
// an agent that was stopped since, and when that was.
func gone(a *Agent, s batch.State) (since time.Time, missing bool) {
	if a.live == nil {
		last, missing := a.odds.Missing(s)
		return time.Unix(last, 0), missing
	}
	there := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		there[s.Jobs[i].ID] = true
	}
	was := a.live.State()
	return was.Now, slices.ContainsFunc(was.Jobs, func(j batch.Job) bool { return !there[j.ID] })
}
