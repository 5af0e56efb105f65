package agent

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// waiter is a link that can tell when a scheduler that has no database takes news again.
type waiter interface {
	// Ready returns when it does. A scheduler that has waited for long says no.
	Ready(ctx context.Context) error
}

// Ready implements waiter.
func (a web) Ready(ctx context.Context) error {
	_, err := a.call(ctx, http.MethodGet, aboutReady, nil)
	return err
}

// await waits beside the looks for a scheduler that was there and could not take news, for
// want of its database: it tells when it can, where a pause would keep the cluster closed
// for longer. It is believed once in a while: what it cannot take then, either, may be for another
// reason.
func (a *Agent) await(ctx context.Context, err error) {
	link, can := a.Link.(waiter)
	if !can || a.back != nil || !unwell(err) || a.Now().Before(a.called.Add(longestRetry)) {
		return
	}
	back := make(chan error, 1)
	a.back = back
	go func() {
		for {
			err := link.Ready(ctx)
			if !unwell(err) || ctx.Err() != nil {
				back <- err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(a.Conf.Poll):
			}
		}
	}()
}

// cameBack takes in what came of waiting: the scheduler is told at once, where it is back.
func (a *Agent) cameBack(err error) bool {
	a.back, a.called = nil, a.Now()
	if err == nil {
		a.retry = time.Time{}
	}
	return err == nil
}

// unwell tells whether a scheduler has said that its database does not answer.
func unwell(err error) bool {
	no, refused := errors.AsType[*RefusedError](err)
	return refused && (no.Code == http.StatusServiceUnavailable || no.Code == http.StatusGatewayTimeout)
}
