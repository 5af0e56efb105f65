package slurm

import (
	"context"

	"gridbroker/glue"
	"gridbroker/plugins"
)

var _ plugins.Inventory = (*Backend)(nil)

// Inventory implements plugins.Inventory, see remote.Site.Inventory.
func (b *Backend) Inventory(ctx context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	s, err := b.At(endpoint.URL)
	if err != nil {
		return nil, err
	}
	return s.Inventory(ctx, s)
}
