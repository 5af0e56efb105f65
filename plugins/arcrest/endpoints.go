package arcrest

import (
	"context"
	"sync"

	"gridbroker/plugins"
)

// place is where requests can go together: an endpoint, as one owner.
type place struct{ endpoint, owner string }

// byEndpoint calls do for every place among the handles, at the same time,
// with the positions of its handles. err is set where there is no client for
// it, and for handles whose id cannot be one (at then lists those).
func (b *Backend) byEndpoint(ctx context.Context, op string, hs []plugins.Handle, do func(c *client, at []int, err error)) {
	groups := map[place][]int{}
	var bad []int
	for i, h := range hs {
		if validID(h.ID) {
			at := place{h.Endpoint, h.Owner}
			groups[at] = append(groups[at], i)
		} else {
			bad = append(bad, i)
		}
	}
	var wg sync.WaitGroup
	for p, at := range groups {
		wg.Go(func() {
			c, err := b.client(ctx, op, p.endpoint, p.owner)
			do(c, at, err)
		})
	}
	wg.Wait()
	for _, i := range bad {
		do(nil, []int{i}, &plugins.Error{Kind: plugins.Invalid, Op: op, Endpoint: hs[i].Endpoint, Said: "this is no job id of ARC: " + hs[i].ID})
	}
}
