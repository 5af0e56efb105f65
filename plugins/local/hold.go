package local

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// heldAt is the marker of a job that is held.
func heldAt(s *site, id string) string { return filepath.Join(s.dir, "held", id) }

// Hold implements plugins.Holder: a held job is taken out of the queue, and loses its
// place to nobody, as the queue goes by when jobs were submitted.
func (b *Backend) Hold(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, func(s *site, id string) error {
		if err := durable.MkdirAll(filepath.Join(s.dir, "held"), 0o700); err != nil {
			return err
		}
		return durable.Rename(s.queued(id), heldAt(s, id))
	})
}

// Release implements plugins.Holder.
func (b *Backend) Release(ctx context.Context, hs []plugins.Handle) []error {
	return b.steer(ctx, hs, func(s *site, id string) error { return durable.Rename(heldAt(s, id), s.queued(id)) })
}

// steer moves jobs while nobody else changes the queue; those that are not where they would
// have to be stay as they are.
func (b *Backend) steer(ctx context.Context, hs []plugins.Handle, move func(s *site, id string) error) []error {
	errs, touched := make([]error, len(hs)), map[*site]bool{}
	for i, h := range hs {
		if err := ctx.Err(); err != nil {
			errs[i] = &plugins.Error{Kind: plugins.Unavailable, Op: "hold or release", Endpoint: h.Endpoint, Err: err}
			continue
		}
		s, err := b.locate(h)
		if err == nil {
			touched[s] = true
			err = s.withQueue(func() error { return move(s, h.ID) })
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs[i] = err
		}
	}
	for s := range touched {
		s.read.drop()
		if err := s.ensureRunner(); err != nil {
			for i, h := range hs {
				if errs[i] == nil && h.Endpoint == EndpointURL(s.Name) {
					errs[i] = &plugins.Error{Kind: plugins.Unavailable, Op: "start runner", Endpoint: h.Endpoint, Err: err}
				}
			}
		}
	}
	return errs
}
