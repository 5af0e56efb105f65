package arcrest

import (
	"context"
	"errors"
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
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(c.o.Connections)
		d := &descriptions{room: descriptionsFor(len(at))}
		for _, i := range at {
			if err != nil {
				break
			}
			g.Go(func() error {
				job, err := d.one(ctx, c, hs[i].ID)
				out[i] = job
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

// maxDescribed bounds a description that an endpoint says it was sent: they have some
// 2 kB, and one with arguments of a megabyte costs a second to read and to record.
const maxDescribed = 1 << 20

// descriptions are what an endpoint says that it was sent, all of them together what
// so many of them may have.
type descriptions struct {
	mu   sync.Mutex // held while one is read: that takes some fifty times its size in memory
	room int64
}

func descriptionsFor(jobs int) int64 { return maxDescribed + int64(jobs)*16<<10 }

// one asks for the description of a job; nil: there is none that can be read, or none
// more is read of this endpoint.
func (d *descriptions) one(ctx context.Context, c *client, id string) (*jdl.Job, error) {
	d.mu.Lock()
	most := min(d.room, maxDescribed)
	d.mu.Unlock()
	if most <= 0 {
		return nil, nil
	}
	text, err := c.diagnose(ctx, "describe", id, "description", most)
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, errTooLong) {
		d.room -= most
		return nil, nil
	}
	d.room -= int64(len(text))
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	return restore(text), nil
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
