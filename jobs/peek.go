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
