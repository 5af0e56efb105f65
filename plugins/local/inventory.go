package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

var _ plugins.Inventory = (*Backend)(nil)

// Inventory implements plugins.Inventory: every job has a directory.
func (b *Backend) Inventory(_ context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	s, err := b.site(endpoint.URL)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "jobs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "list jobs", Endpoint: endpoint.URL, Err: err}
	}
	var all []plugins.Present
	for _, e := range entries {
		if e.IsDir() && siteName.MatchString(e.Name()) {
			all = append(all, plugins.Present{ID: e.Name(), Handle: s.handle(e.Name())})
		}
	}
	return all, nil
}

// Describe implements plugins.Inventory.
func (b *Backend) Describe(_ context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	out := make([]*jdl.Job, len(hs))
	for i, h := range hs {
		s, err := b.site(h.Endpoint)
		if err != nil {
			return nil, err
		}
		var sp spec
		if !siteName.MatchString(h.ID) || readJSON(filepath.Join(s.job(h.ID), "spec.json"), &sp) != nil || sp.JDL == "" {
			continue
		}
		if job, err := jdl.LoadJob(sp.JDL); err == nil {
			out[i] = job
		}
	}
	return out, nil
}
