package central

import (
	"context"
	"errors"
	"time"

	"gridbroker/plugins"
)

// Hold implements plugins.Holder: the scheduler plans a held job no more, and takes it back from where it was sent, unless it
// has begun there.
func (b *Backend) Hold(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, "hold", func(v view) bool { return v.Plugins != plugins.Queued })
}

// Release implements plugins.Holder.
func (b *Backend) Release(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, "release", func(v view) bool { return !v.OnHold })
}

// steer asks for jobs to be held or released, and waits for a while until they are: the next cycle does it, and one that is
// at a site has to be taken back.
func (b *Backend) steer(ctx context.Context, hs []plugins.Handle, what string, done func(view) bool) []error {
	errs := b.order(ctx, hs, what)
	var asked []plugins.Handle
	for i, err := range errs {
		if errors.Is(err, errUnknown) {
			errs[i] = &plugins.Error{Kind: plugins.Refused, Op: what, Endpoint: hs[i].Endpoint, Said: "it is of a version that holds no jobs: grid cancel takes them out"}
		}
		if err == nil {
			asked = append(asked, hs[i])
		}
	}
	until := time.Now().Add(patience)
	for pause := 50 * time.Millisecond; len(asked) > 0 && time.Now().Before(until) && waited(ctx, pause); pause = min(2*pause, time.Second) {
		asked = b.undone(ctx, asked, done)
	}
	return errs
}

// undone are those of the jobs to which it is still to be done; none, where nobody can be asked.
func (b *Backend) undone(ctx context.Context, hs []plugins.Handle, done func(view) bool) (left []plugins.Handle) {
	b.each(ctx, hs, func(c *client, err error, places []int) {
		if err != nil {
			return
		}
		got, err := c.views(ctx, hs, places)
		for _, i := range places {
			if v, known := got[hs[i].ID]; err == nil && known && !done(v) {
				left = append(left, hs[i])
			}
		}
	})
	return left
}
