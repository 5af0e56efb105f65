package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gridbroker/plugins"
)

// restartTime is for how long after a job was asked to go on its back-end may say the
// old: longer than a stock A-REX (wakeupperiod) takes to look.
const restartTime = 3 * time.Minute

// stale reports whether a job that was asked to go on is only said to have failed as it
// had before.
func (r *Record) stale(st plugins.Status, now time.Time) bool {
	if r.Restarted.IsZero() || st.State != plugins.Failed || now.Sub(r.Restarted) >= restartTime || len(r.Past) == 0 {
		return false
	}
	before := r.Past[len(r.Past)-1].Reason
	return st.Reason == "" || bounded(st.Reason) == before
}

// mayRestart tells why a job cannot go on where it is; nil: it may.
func (r *Record) mayRestart() error {
	switch {
	case r.State == plugins.Done && r.Failure() || r.State == plugins.Failed && r.ExitCode != nil && *r.ExitCode != 0:
		return fmt.Errorf("job %s ran to its end with exit code %d: grid resubmit --same runs it again", r.ID, *r.ExitCode)
	case r.State != plugins.Failed:
		return fmt.Errorf("job %s is %s: only a job that has failed goes on", r.ID, r.State)
	case r.Handle.ID == "":
		return fmt.Errorf("job %s is at no back-end: grid resubmit sends it anew", r.ID)
	}
	return nil
}

// Restart lets jobs that failed go on at the same place from the step that failed, such as
// the transfer of a file, where the back-end can.
func Restart(ctx context.Context, c *Controller, os []*Outcome) error {
	var may []*Outcome
	for _, o := range os {
		if o.Err = o.mayRestart(); o.Err == nil {
			may = append(may, o)
		}
	}
	return c.each(may, func(backend plugins.Submitter, os []*Outcome) error {
		r, ok := backend.(plugins.Restarter)
		if !ok {
			for _, o := range os {
				o.Err = errCannot(o, "let jobs go on: grid resubmit --same runs them again")
			}
			return nil
		}
		return restart(ctx, c, r, os)
	})
}

func restart(ctx context.Context, c *Controller, backend plugins.Restarter, os []*Outcome) error {
	was := map[string]*Record{}
	for _, o := range os {
		was[o.ID] = o.Record.clone()
	}
	err := c.apply(ctx, os, func(r *Record) Event {
		if r.Handle != was[r.ID].Handle || r.mayRestart() != nil {
			return nil // another process has gone on with it
		}
		return Restarted{}
	})
	if os = well(os); err != nil || len(os) == 0 {
		return err
	}
	perJob(os, backend.Restart(ctx, handles(os)))
	refused := map[string]error{}
	var list []*Outcome
	for _, o := range os {
		if e, ok := errors.AsType[*plugins.Error](o.Err); ok && (e.Kind == plugins.Refused || e.Kind == plugins.Invalid || e.Kind == plugins.Credential) {
			refused[o.ID], list = o.Err, append(list, o)
		}
	}
	return c.apply(context.WithoutCancel(ctx), list, func(r *Record) Event {
		if r.State != plugins.Accepted || r.Restarted.IsZero() || r.Handle != was[r.ID].Handle {
			return nil
		}
		return NotRestarted{was[r.ID], refused[r.ID].Error()}
	})
}
