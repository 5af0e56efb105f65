package jobs

import (
	"context"
	"errors"
	"io"

	"gridbroker/plugins"
)

// errNothingYet is that a job has not reached a back-end, so that there is nothing to read.
var errNothingYet = errors.New("it has not reached a computing element yet")

// Peek copies a file of a job, from an offset on, to w: of a running job what it has written so far. It returns how
// many bytes that were.
func (c *Controller) Peek(ctx context.Context, r *Outcome, name string, offset int64, w io.Writer) (int64, error) {
	if r.Handle.ID == "" {
		return 0, errNothingYet
	}
	backend, ok := c.Registry.For(r.Handle.Interface)
	if !ok {
		return 0, errCannot(r, "be used: there is no back-end for it")
	}
	p, ok := backend.(plugins.Peeker)
	if !ok {
		return 0, errCannot(r, "show files of running jobs")
	}
	return p.Peek(ctx, r.Handle, name, offset, w)
}

// Restart lets failed jobs run again where they failed, with the files they have there. Jobs whose back-end cannot do
// that get an error.
func (c *Controller) Restart(ctx context.Context, rs []*Outcome) error {
	return c.each(rs, func(backend plugins.Submitter, rs []*Outcome) error {
		b, ok := backend.(plugins.Restarter)
		if !ok {
			for _, r := range rs {
				r.Err = errCannot(r, "run a job again in its place; grid resubmit sends it anew")
			}
			return nil
		}
		hs := make([]plugins.Handle, len(rs))
		for i, r := range rs {
			hs[i] = r.Handle
		}
		perJob(rs, b.Restart(ctx, hs))
		return nil
	})
}
