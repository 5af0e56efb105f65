package arcrest

import (
	"context"
	"errors"
	"net/http"

	"gridbroker/plugins"
)

// Cancel implements plugins.Submitter, with one request per endpoint.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	return b.each(ctx, "cancel", hs, (*client).kill)
}

// Clean implements plugins.Cleaner. A job that is gone already is clean.
func (b *Backend) Clean(ctx context.Context, hs []plugins.Handle) []error {
	return b.each(ctx, "clean", hs, (*client).clean)
}

// Restart implements plugins.Restarter. The CE refuses for jobs that have not
// failed, or have no restarts left; it takes some seconds to begin.
func (b *Backend) Restart(ctx context.Context, hs []plugins.Handle) []error {
	return b.each(ctx, "restart", hs, (*client).restart)
}

func unknownIsFine(item jobItem) bool { return item.Code == http.StatusNotFound }

// kill asks again for jobs that the CE refuses to cancel or does not know: for
// a moment it does so while it moves a job's files. A job it never knows is as
// good as cancelled.
func (c *client) kill(ctx context.Context, ids []string) []error {
	errs := c.act(ctx, "cancel", "kill", scopeCancel, ids, nil)
	for look := 1; look < looks; look++ {
		at := refused(errs)
		if len(at) == 0 {
			break
		}
		pause(ctx, lookWait)
		left := make([]string, len(at))
		for k, i := range at {
			left[k] = ids[i]
		}
		var accept func(jobItem) bool
		if look == looks-1 {
			accept = unknownIsFine
		}
		for k, err := range c.act(ctx, "cancel", "kill", scopeCancel, left, accept) {
			errs[at[k]] = err
		}
	}
	return errs
}

// refused lists the places of refusals.
func refused(errs []error) (at []int) {
	for i, err := range errs {
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Refused {
			at = append(at, i)
		}
	}
	return at
}

func (c *client) clean(ctx context.Context, ids []string) []error {
	return c.act(ctx, "clean", "clean", scopeCancel, ids, unknownIsFine)
}

func (c *client) restart(ctx context.Context, ids []string) []error {
	return c.act(ctx, "restart", "restart", scopeModify, ids, nil)
}

func (c *client) act(ctx context.Context, op, action, scope string, ids []string, accept func(jobItem) bool) []error {
	items, err := c.bulk(ctx, op, action, scope, ids)
	errs := perJob(c, op, ids, items, accept)
	if err != nil {
		for i, id := range ids {
			if _, answered := items[id]; !answered {
				errs[i] = err
			}
		}
	}
	return errs
}

// each runs do once per endpoint, all endpoints at the same time, and puts the
// errors back in the order of the handles.
func (b *Backend) each(ctx context.Context, op string, hs []plugins.Handle, do func(*client, context.Context, []string) []error) []error {
	errs := make([]error, len(hs))
	b.byEndpoint(ctx, op, hs, func(c *client, at []int, err error) {
		if err == nil {
			for k, e := range do(c, ctx, idsOf(hs, at)) {
				errs[at[k]] = e
			}
			return
		}
		for _, i := range at {
			errs[i] = err
		}
	})
	return errs
}

func idsOf(hs []plugins.Handle, at []int) []string {
	ids := make([]string, len(at))
	for k, i := range at {
		ids[k] = hs[i].ID
	}
	return ids
}
