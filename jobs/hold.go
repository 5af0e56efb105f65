package jobs

import (
	"context"
	"fmt"

	"gridbroker/plugins"
)

// Hold keeps jobs that wait at their back-ends from being started, where these can, until they
// are released. One that began before it could be held is an error of its own, and runs.
func Hold(ctx context.Context, c *Controller, os []*Outcome) error {
	return steer(ctx, c, os, steering{
		asked: HoldAsked{}, cannot: "hold jobs: grid cancel takes them out",
		may:    func(s plugins.State) bool { return waits(s) || s == plugins.Held },
		no:     "only a job that waits can be held",
		do:     plugins.Holder.Hold,
		failed: func(s plugins.State) bool { return !s.Final() && s != plugins.Held },
		later:  "it was not held",
	})
}

// Release lets jobs be started that are held at their back-ends.
func Release(ctx context.Context, c *Controller, os []*Outcome) error {
	return steer(ctx, c, os, steering{
		asked: ReleaseAsked{}, cannot: "release jobs",
		may:    func(s plugins.State) bool { return s == plugins.Held },
		no:     "only a job that is held can be released",
		do:     plugins.Holder.Release,
		failed: func(s plugins.State) bool { return s == plugins.Held },
		later:  "it was not released",
	})
}

// waits reports whether a back-end has the job and has not begun with it.
func waits(s plugins.State) bool {
	return s == plugins.Accepted || s == plugins.Preparing || s == plugins.Queued
}

// steering is what Hold and Release differ in.
type steering struct {
	asked  Event
	cannot string
	may    func(plugins.State) bool
	no     string
	do     func(plugins.Holder, context.Context, []plugins.Handle) []error
	failed func(plugins.State) bool // the state in which it is afterwards tells that nothing came of it
	later  string
}

// steer asks first how jobs are, then the back-ends, then how they are now: what a back-end does
// to a job in the meantime is told by its state.
func steer(ctx context.Context, c *Controller, os []*Outcome, s steering) error {
	if err := c.Refresh(ctx, os); err != nil {
		return err
	}
	var may []*Outcome
	for _, o := range well(os) {
		switch {
		case o.Handle.ID == "" && !o.Final():
			o.Err = fmt.Errorf("job %s is %s: it is at no back-end yet", o.ID, o.State)
		case !s.may(o.State):
			o.Err = fmt.Errorf("job %s is %s: %s", o.ID, o.State, s.no)
		default:
			may = append(may, o)
		}
	}
	return c.each(may, func(backend plugins.Submitter, os []*Outcome) error {
		h, ok := backend.(plugins.Holder)
		if !ok {
			for _, o := range os {
				o.Err = errCannot(o, s.cannot)
			}
			return nil
		}
		if err := c.apply(ctx, os, func(r *Record) Event { return s.unlessOver(r) }); err != nil {
			return err
		}
		perJob(os, s.do(h, ctx, handles(os)))
		said := make([]error, len(os))
		for i, o := range os {
			said[i] = o.Err
		}
		err := refresh(ctx, c, backend, os)
		for i, o := range os {
			s.tell(o, said[i])
		}
		return err
	})
}

// tell gives a job that the back-end has been asked for the error it has now, where the request for it failed as
// it says, or did not. What a request did whose answer failed is told by the job's state.
func (s steering) tell(o *Outcome, said error) {
	switch {
	case said != nil && (o.Err != nil || s.failed(o.State)):
		o.Err = said
	case o.Err != nil:
		o.Err = fmt.Errorf("job %s was %s, and it is not known how it is now: %w", o.ID, o.State, o.Err)
	case s.failed(o.State):
		o.Err = fmt.Errorf("job %s is %s%s: %s", o.ID, o.State, because(o.Reason), s.later)
	}
}

// unlessOver is the event for a job that another process has not ended meanwhile.
func (s steering) unlessOver(r *Record) Event {
	if r.Final() || r.Handle.ID == "" {
		return nil
	}
	return s.asked
}

// because puts a reason behind a state.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
