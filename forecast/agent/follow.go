package agent

import (
	"context"
	"errors"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
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

// follow brings the model up to date with a look, and tells whether all is as it was
// foretold. What the model has learned stays from look to look.
func follow(ctx context.Context, a *Agent, s batch.State) (same bool, err error) {
	ended := a.endings(ctx, s)
	if a.live == nil {
		if err := a.begin(s, ended); err != nil {
			return false, err
		}
	} else {
		did, err := a.live.Sync(s, ended...)
		if past, is := errors.AsType[*batch.PastError](err); is && past.Now.Sub(past.At) <= a.Conf.TTL { // a look that came out of order
			return false, nil
		} else if is { // its clock was set back
			err = a.begin(s, ended)
		}
		if err != nil {
			return false, err
		}
		same = did == batch.Synced{}
		a.Meter.synced(did)
	}
	if err := govern(ctx, a, s, ended); err != nil {
		return false, err
	}
	a.odds.Look(s, ended)
	quiet, now := same, a.Now()
	same = quiet && now.Before(a.until) && now.Add(sameFor).After(a.until) // a clock that was set back proves nothing
	a.unpondered = a.unpondered || !same
	if a.pondered.Swap(false) { // what was worked out since is to be told
		return false, nil
	}
	return same || quiet && refresh(a), nil
}

// foretell foretells what will start within the horizon: that is what slots are made
// of, and costs a part of what the whole queue does. The jobs are good until it is done again.
func foretell(a *Agent) (batch.State, *batch.Forecast) {
	s := a.live.StateIn(a.room)
	a.room = s.Jobs
	return s, a.live.Near(a.Conf.Horizon)
}

// sameFor is how long what was foretold is told on of a queue in which nothing
// happens: chances and the end of the horizon move with time. What becomes of slots
// is learned from looks that are less than slotMissed apart.
const sameFor = slotMissed - time.Minute

// holds is until when slots are as they were foretold if nothing happens: one that
// begins or ends, with a job that is expected to, is looked at again.
func holds(slots []wire.Slot, now time.Time) time.Time {
	until := now.Add(sameFor).Unix()
	for i := range slots {
		for _, at := range [...]int64{slots[i].From, slots[i].To} {
			if at > now.Unix() {
				until = min(until, at)
			}
		}
	}
	return time.Unix(until, 0)
}

// begin sets the model up, with what was learned so far and the jobs that have ended since.
func (a *Agent) begin(s batch.State, ended []batch.Ending) error {
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
	if len(ended) > 0 {
		if _, err := live.Sync(s, ended...); err != nil {
			return err
		}
	}
	a.live, a.until = live, time.Time{}
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
// an agent that was stopped since, and when that was. Of one that was stopped others may
// wait that are not there: it may have seen these.
func gone(a *Agent, s batch.State) (since time.Time, missing bool) {
	if a.live == nil {
		last, missing := a.odds.Missing(s)
		return time.Unix(last, 0), missing || a.recalled != nil && orphaned(s.Jobs)
	}
	return a.live.Now(), a.live.Missing(s)
}

// orphaned tells whether jobs are said to wait for others that are not there.
func orphaned(jobs []batch.Job) bool {
	there := make(map[string]bool, len(jobs))
	for i := range jobs {
		there[jobs[i].ID] = true
	}
	for i := range jobs {
		for _, d := range jobs[i].After {
			if !there[d.ID] {
				return true
			}
		}
	}
	return false
}
