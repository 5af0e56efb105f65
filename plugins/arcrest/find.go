package arcrest

import (
	"context"
	"net/http"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// findChunk is how many jobs are asked for their details at once: an answer
// has some 2 kB for each.
const findChunk = 1000

// Find implements plugins.Finder: it reads the names of the user's jobs at the
// endpoint, the newest last, until all ids are found.
func (b *Backend) Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	c, err := b.client("look up jobs", endpoint.URL)
	if err != nil {
		return nil, err
	}
	there, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	found := map[string]plugins.Handle{}
	for len(there) > 0 && len(found) < len(want) {
		n := min(len(there), findChunk)
		items, err := c.bulk(ctx, "look up jobs", "info", scopeRead, there[:n])
		if err != nil {
			return nil, err
		}
		for id, item := range items {
			if ours := ourID(item.Info.Name); want[ours] {
				found[ours] = c.handle(id)
			}
		}
		there = there[n:]
	}
	return found, nil
}

// list returns the ids of the user's jobs.
func (c *client) list(ctx context.Context) ([]string, error) {
	path, err := c.rest(ctx, "look up jobs", "/jobs")
	if err != nil {
		return nil, err
	}
	var list jobList
	if err := c.decode(ctx, &call{op: "look up jobs", method: http.MethodGet, path: path, scope: scopeRead}, &list); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(list.Jobs))
	for _, j := range list.Jobs {
		if validID(j.ID) {
			ids = append(ids, j.ID)
		}
	}
	return ids, nil
}
