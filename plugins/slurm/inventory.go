package slurm

import (
	"context"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

var _ plugins.Inventory = (*Backend)(nil)

// Inventory implements plugins.Inventory, see remote.Site.Inventory.
func (b *Backend) Inventory(ctx context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	s, err := b.site(endpoint.URL)
	if err != nil {
		return nil, err
	}
	return s.Inventory(ctx, s)
}

// Describe implements plugins.Inventory.
func (b *Backend) Describe(ctx context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	return remote.DescribeAll(ctx, hs, b.split)
}
