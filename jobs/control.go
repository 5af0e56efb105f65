package jobs

import (
	"context"
	"fmt"
	"io"

	"gridbroker/plugins"
)

// errCannot is that a back-end has no such operation.
func errCannot(o *Outcome, what string) error {
	return fmt.Errorf("job %s: %s cannot %s", o.ID, o.Handle.Interface, what)
}

// perJob spreads the errors of a bulk call over its jobs; what is missing is
// an error, too.
func perJob(os []*Outcome, errs []error) {
	for i, o := range os {
		if i < len(errs) {
			o.Err = errs[i]
		} else {
			o.Err = fmt.Errorf("job %s: the back-end gave no answer", o.ID)
		}
	}
}

// Cancel ends jobs. One that was never sent is cancelled at once; for the
// others the state tells when the back-end has done it. Ended jobs stay as
// they are.
func (c *Controller) Cancel(ctx context.Context, os []*Outcome) error {
	if err := c.Reconcile(ctx, os); err != nil {
		return err
	}
	err := c.apply(ctx, os, func(r *Record) Event {
		if r.Final() || r.State == plugins.Intended && !c.free(r) && !scriptRuns(r) {
			return nil
		}
		return CancelAsked{}
	})
	if err != nil {
		return err
	}
	var live []*Outcome
	for _, o := range os {
		switch {
		case o.Final():
		case o.Handle.ID == "":
			o.Err = &plugins.Error{Kind: plugins.Uncertain, Op: "cancel job " + o.ID, Endpoint: o.Handle.Endpoint,
				Said: "it is not known whether the job arrived", Hint: "ask again with grid status, then cancel"}
		default:
			live = append(live, o)
		}
	}
	err = c.each(live, func(backend plugins.Submitter, os []*Outcome) error {
		perJob(os, backend.Cancel(ctx, handles(os)))
		asked := well(os)
		if len(asked) == 0 {
			return nil
		}
		return refresh(ctx, c, backend, asked)
	})
	if err != nil {
		return err
	}
	return vacate(ctx, c, os)
}

// Clean removes ended jobs and their files from the back-ends and forgets
// them. With forget set a job is forgotten even where its back-end cannot be
// reached, and whatever its state.
func (c *Controller) Clean(ctx context.Context, os []*Outcome, forget bool) error {
	if err := vacate(ctx, c, os); err != nil {
		return err
	}
	var have, gone []*Outcome
	for _, o := range os {
		switch {
		case !o.Final() && !forget && !o.Cancelled.IsZero():
			o.Err = fmt.Errorf("job %s is being cancelled: clean it when that is done (grid watch waits for it)", o.ID)
		case !o.Final() && !forget:
			o.Err = fmt.Errorf("job %s is %s: cancel it first", o.ID, o.State)
		case o.Handle.ID == "" || o.State == plugins.Lost:
			gone = append(gone, o)
		default:
			have = append(have, o)
		}
	}
	err := c.each(have, func(backend plugins.Submitter, os []*Outcome) error {
		if cleaner, ok := backend.(plugins.Cleaner); ok {
			perJob(os, cleaner.Clean(ctx, handles(os)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range have {
		if o.Err == nil || forget {
			gone = append(gone, o)
		}
	}
	cleanPast(ctx, c, gone)
	if err := c.Store.Delete(ctx, Records(gone)); err != nil {
		return err
	}
	return dropTaken(c, gone)
}

// cleanPast removes what earlier attempts left behind, as far as that can be
// had.
func cleanPast(ctx context.Context, c *Controller, os []*Outcome) {
	var old []*Outcome
	for _, o := range os {
		for _, p := range o.Past {
			if p.Handle.ID != "" {
				old = append(old, &Outcome{Record: &Record{ID: o.ID, Handle: p.Handle}})
			}
		}
	}
	_ = c.each(old, func(backend plugins.Submitter, os []*Outcome) error {
		if cleaner, ok := backend.(plugins.Cleaner); ok {
			cleaner.Clean(ctx, handles(os))
		}
		return nil
	})
}

// Renew brings the credentials delegated for jobs up to date.
func (c *Controller) Renew(ctx context.Context, os []*Outcome) error {
	var live []*Outcome
	for _, o := range os {
		if !o.Final() && o.Handle.ID != "" {
			live = append(live, o)
		} else {
			o.Err = fmt.Errorf("job %s is %s: nothing to renew", o.ID, o.State)
		}
	}
	err := c.each(live, func(backend plugins.Submitter, os []*Outcome) error {
		renewer, ok := backend.(plugins.Renewer)
		if !ok {
			for _, o := range os {
				o.Err = errCannot(o, "renew credentials: it keeps none")
			}
			return nil
		}
		perJob(os, renewer.Renew(ctx, handles(os)))
		return nil
	})
	if err != nil {
		return err
	}
	return c.apply(ctx, well(live), func(r *Record) Event {
		if r.Final() || r.Handle.ID == "" {
			return nil
		}
		return Renewed{}
	})
}

// BackendLog writes the back-end's own log of a job.
func (c *Controller) BackendLog(ctx context.Context, o *Outcome, w io.Writer) error {
	if o.Handle.ID == "" {
		return nil
	}
	backend, ok := c.Registry.For(o.Handle.Interface)
	if !ok {
		return errCannot(o, "be used: there is no back-end for it")
	}
	l, ok := backend.(plugins.Logger)
	if !ok {
		return nil
	}
	return l.Log(ctx, o.Handle, w)
}
