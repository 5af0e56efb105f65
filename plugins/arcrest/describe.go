package arcrest

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/plugins"
)

// Describe implements plugins.Inventory: A-REX keeps the text it was sent. One
// in a language that cannot be read is none.
func (b *Backend) Describe(ctx context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	out := make([]*jdl.Job, len(hs))
	var mu sync.Mutex
	var first error
	b.byEndpoint(ctx, "describe", hs, func(c *client, at []int, err error) {
		var g errgroup.Group
		g.SetLimit(c.o.Connections)
		for _, i := range at {
			if err != nil {
				break
			}
			g.Go(func() error {
				text, err := c.diagnose(ctx, "describe", hs[i].ID, "description")
				if err == nil {
					out[i] = restore(text)
				}
				return err
			})
		}
		if werr := g.Wait(); err == nil {
			err = werr
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
	})
	return out, first
}

// restore reads a description that was sent to the CE; nil: it cannot be read.
func restore(text []byte) *jdl.Job {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil
	}
	const file = "the description at the CE"
	ads, err := adl.Read(file, text, func(*classad.Diagnostic) {})
	if err != nil || len(ads) != 1 {
		return nil
	}
	set, err := jdl.FromRecords(file, text, ads, jdl.WithDialect(jdl.GLite), jdl.WithoutFiles())
	if err != nil || len(set.Jobs) != 1 {
		return nil
	}
	return set.Jobs[0]
}
