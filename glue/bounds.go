package glue

import (
	"fmt"
	"sync"
)

// Limits on what one source may publish, all its trees together: shares, entries of all
// kinds, bytes of one value and of all that is kept. The larger a grid, the more of them:
// for each computing element (a cluster of GLUE 1.3, a service of GLUE 2.0) up to maxCEs
// of a tree there may be more. 3,000 sites publish 7,500 of these with 102,000 CEs and
// views in GLUE 1.3, and 455,000 entries in GLUE 2.0, of which 52 MB are kept. Shares
// without end, and texts that are long, end where a small grid does.
const (
	maxResources = 3 << 14
	maxEntries   = 1 << 19
	maxBytes     = 64 << 20
	maxValue     = 16 << 10

	maxCEs     = 1 << 15
	ceShares   = 32
	ceEntries  = 128
	ceBytes    = 4 << 10
	mostShares = 1 << 18 // however many computing elements there are
)

// weight is how much a decoder has taken in: shares, and what is more than its
// computing elements account for of shares, entries and bytes.
type weight struct {
	shares, freeShares, freeEntries, freeBytes int
}

// bounds is what the decoders of one source have taken in together.
type bounds struct {
	mu  sync.Mutex
	sum weight
}

// ShareBounds has decoders of one source share their limits, so that its trees cost no
// more together than one tree may. Call it before anything is added to them.
func ShareBounds(ds []*Decoder) {
	for _, d := range ds {
		d.bounds = ds[0].bounds
	}
}

// cesOf is how many computing elements account for what there is.
func cesOf(d *Decoder) int {
	return min(len(d.glue1.clusters)+len(d.glue2.services)+len(d.ng.clusters), maxCEs)
}

// weigh brings the bounds up to date with what one of the decoders has, and returns
// what all have.
func (b *bounds) weigh(d *Decoder) weight {
	ces := cesOf(d)
	w := weight{d.big, max(0, d.big-ceShares*ces), max(0, d.n-ceEntries*ces), max(0, d.Kept()-ceBytes*ces)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum.shares += w.shares - d.own.shares
	b.sum.freeShares += w.freeShares - d.own.freeShares
	b.sum.freeEntries += w.freeEntries - d.own.freeEntries
	b.sum.freeBytes += w.freeBytes - d.own.freeBytes
	d.own = w
	return b.sum
}

// LimitError is that a source publishes more than is taken in of one. To ask it
// again brings no more.
type LimitError string

// Error implements error.
func (e LimitError) Error() string { return string(e) }

// Err is a LimitError once more was added than a Decoder takes in, by itself or with
// those that it shares its limits with. A tree whose computing elements account for all
// that it has is not cut for what another one has.
func (d *Decoder) Err() error {
	sum := d.bounds.weigh(d)
	switch {
	case sum.shares > mostShares:
		return LimitError(fmt.Sprintf("more than %d shares", mostShares))
	case d.own.freeShares > 0 && sum.freeShares > maxResources:
		return LimitError(fmt.Sprintf("more than %d shares, and %d for each of %d computing elements", maxResources, ceShares, cesOf(d)))
	case d.own.freeEntries > 0 && sum.freeEntries > maxEntries:
		return LimitError(fmt.Sprintf("more than %d entries, and %d for each of %d computing elements", maxEntries, ceEntries, cesOf(d)))
	case d.own.freeBytes > 0 && sum.freeBytes > maxBytes:
		return LimitError(fmt.Sprintf("more than %d MB of text, and %d KiB for each of %d computing elements", maxBytes>>20, ceBytes>>10, cesOf(d)))
	}
	return d.pay()
}
