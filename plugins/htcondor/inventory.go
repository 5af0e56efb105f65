package htcondor

import (
	"context"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

var _ plugins.Inventory = (*Backend)(nil)

// Inventory implements plugins.Inventory: what lies at the site, and what the
// queue has of ours beyond that.
func (b *Backend) Inventory(ctx context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	s, err := b.At(endpoint.URL)
	if err != nil {
		return nil, err
	}
	var queued []ad
	err = s.ads(ctx, func(a ad) { queued = append(queued, a) },
		"condor_q", "-json", "-attributes", "ClusterId,ProcId,GridBrokerId,Owner", "-constraint", "GridBrokerId isnt undefined")
	if err != nil {
		return nil, err
	}
	all, err := b.Sites.Inventory(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	for _, p := range all {
		ours[p.ID] = true
	}
	me := identityAt(ctx, s)
	for _, job := range queued {
		if id := job.text("GridBrokerId"); remote.ValidID(id) && !ours[id] && isOurs(me, job.text("Owner")) {
			h := plugins.Handle{Interface: s.System.Interface, Endpoint: s.URL, ID: handleID(job)}
			all = append(all, plugins.Present{ID: id, Handle: h})
		}
	}
	return all, nil
}
