package environment

import (
	"context"
	"fmt"
	"time"
)

// Prepared is an environment that was to be deployed before a job asks for it.
type Prepared struct {
	Tag    string
	Cached bool          // its tree is there now
	Fresh  bool          // it was unpacked by this call
	Took   time.Duration // to unpack it
	Err    error         // why it is not there
}

// A QuotaError is an environment that does not fit into the cache beside those that jobs want before it.
type QuotaError struct {
	Need, Held, Quota int64 // bytes
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("it takes about %d MB, those that are wanted before it have %d MB, the cache may have %d MB",
		e.Need/1e6, e.Held/1e6, e.Quota/1e6)
}

// Prepare deploys environments before jobs ask for them, in the order in which they are wanted, and keeps the cache
// within its quota: what is wanted first stays, what does not fit beside it is left for the job itself to deploy.
func (n *Node) Prepare(ctx context.Context, tags []string) []Prepared {
	p := preparing{node: n, store: n.Store()}
	defer p.close()
	out := make([]Prepared, 0, len(tags))
	for _, tag := range tags {
		one := Prepared{Tag: tag}
		began := time.Now()
		tree, err := p.tree(ctx, tag)
		if err != nil {
			one.Err = err
		} else {
			one.Cached, one.Fresh = true, tree.Fresh
		}
		if one.Fresh {
			one.Took = time.Since(began)
		}
		out = append(out, one)
	}
	p.bound(out)
	return out
}

// bound keeps the quota where images turned out larger than they were taken to be: the last ones that were wanted go.
func (p *preparing) bound(out []Prepared) {
	last := len(out) - 1
	for {
		p.store.Shrink(p.store.Bound()) // what cannot be removed is seen in what is left
		list, err := p.store.List()
		sum := int64(0)
		for _, e := range list {
			sum += e.Bytes
		}
		if err != nil || sum <= p.store.Bound() || len(p.held) == 0 {
			return
		}
		for last >= 0 && !out[last].Cached {
			last--
		}
		tree := p.held[len(p.held)-1]
		p.held = p.held[:len(p.held)-1]
		tree.Close()
		if _, err := p.store.remove(tree.Digest); err != nil || last < 0 {
			return
		}
		out[last].Cached, out[last].Err = false, &QuotaError{sum - p.store.Bound(), sum, p.store.Bound()}
	}
}

// preparing holds the trees that are wanted, so that none is removed for a later one.
type preparing struct {
	node  *Node
	store *Cache
	held  []*Tree
	bytes int64
}

func (p *preparing) tree(ctx context.Context, tag string) (*Tree, error) {
	d, err := p.node.Definition(tag)
	if err != nil {
		return nil, err
	}
	if !p.store.Cached(d.Digest) {
		if need := p.need(ctx, d); p.bytes+need > p.store.Bound() {
			return nil, &QuotaError{need, p.bytes, p.store.Bound()}
		}
	}
	tree, err := p.node.Tree(ctx, d)
	if err != nil {
		return nil, err
	}
	p.held = append(p.held, tree)
	if rec, err := p.store.record(d.Digest); err == nil {
		p.bytes += rec.Bytes
	}
	return tree, nil
}

func (p *preparing) close() {
	for _, t := range p.held {
		t.Close()
	}
}

// need is about how many bytes an image takes unpacked; 0 where that is not known before it is fetched.
func (p *preparing) need(ctx context.Context, d *Definition) int64 {
	img, err := p.store.open(ctx, d)
	if err != nil {
		return 0
	}
	return img.unpacked()
}

// unpacked is about how many bytes an image takes unpacked.
func (img *image) unpacked() int64 {
	var need int64
	for _, l := range img.layers {
		need += max(l.size, 0) * expansion
	}
	return need
}

// Bound is how many bytes all trees together may have.
func (c *Cache) Bound() int64 {
	if c.Quota == 0 {
		return 40e9
	}
	return c.Quota
}
