package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// stands are clusters in memory, but for what only their leader has, in its memory, of the same process: their slots.
type stands map[string]*stand

// stand is one of them.
type stand struct {
	beatRow
	digest               string
	torn                 bool // the next delta is refused, for a full one
	site                 wire.Site
	load                 wire.Load
	drained              bool
	hits, misses, launch int64
	trust                plan.Trust
}

// standing implements clusters.
func (s stands) standing(_ context.Context, cluster string, _ bool, ack *wire.Ack) (known, torn bool, err error) {
	c := s[cluster]
	if c == nil {
		return false, false, nil
	}
	ack.Seq, ack.Digest = uint64(c.Seq), c.digest
	return true, c.torn, nil
}

// goodFor implements clusters.
func (s stands) goodFor(_ context.Context, cluster string, now int64) (good int64, err error) {
	if c := s[cluster]; c != nil && wire.Usable(c.Made, c.TTL, now) {
		good = c.Made + c.TTL - now
	}
	return good, nil
}

// keep implements clusters.
func (s stands) keep(_ context.Context, d *wire.Delta, _ int64) error {
	c := s[d.Cluster]
	if c == nil {
		c = &stand{}
		s[d.Cluster] = c
	}
	c.torn, c.digest = c.torn && !d.Full, d.Digest
	c.beatRow = beatRow{d.Cluster, int64(d.Seq), d.Made, d.TTL}
	if d.Site != nil {
		c.site = *d.Site
	}
	if d.Load != nil {
		c.load = *d.Load
	}
	return nil
}

// beat implements clusters.
func (s stands) beat(_ context.Context, b *wire.Beat, now int64) error {
	if c := s[b.Cluster]; c != nil && (c.Made <= b.Made || c.Made > wire.Newest(b.TTL, now)) {
		c.Made, c.TTL = b.Made, b.TTL
	}
	return nil
}

// askAgain implements clusters.
func (s stands) askAgain(_ context.Context, cluster string) error {
	if c := s[cluster]; c != nil {
		c.torn = true
	}
	return nil
}

// read implements clusters.
func (s stands) read(_ context.Context, one string) (list []clusterRow, err error) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if one != "" && name != one {
			continue
		}
		c := s[name]
		list = append(list, clusterRow{&cluster{name: name, seq: c.Seq, made: c.Made, ttl: c.TTL, site: c.site, load: c.load,
			drained: c.drained, hits: c.hits, misses: c.misses, launchMS: c.launch, trust: c.trust}, c.digest})
	}
	return list, nil
}

// site implements clusters.
func (s stands) site(_ context.Context, cluster string) (*wire.Site, error) {
	if c := s[cluster]; c != nil {
		return new(c.site), nil
	}
	return nil, fmt.Errorf("cluster %s: %w", cluster, ErrNoCluster)
}

// slots implements clusters.
func (s stands) slots(_ context.Context, cluster string) (*wire.Set, error) {
	return nil, fmt.Errorf("cluster %s: its slots are not in memory, and a scratch database keeps none", cluster)
}

// count implements clusters.
func (s stands) count(_ context.Context, c *cluster) error {
	if at := s[c.name]; at != nil {
		at.drained, at.hits, at.misses, at.launch, at.trust = c.drained, c.hits, c.misses, c.launchMS, c.trust
	}
	return nil
}

// beats implements clusters.
func (s stands) beats(context.Context) ([]beatRow, error) {
	list := make([]beatRow, 0, len(s))
	for _, c := range s {
		list = append(list, c.beatRow)
	}
	slices.SortFunc(list, func(a, b beatRow) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// hear implements clusters.
func (s stands) hear(_ context.Context, list []beatRow, _ int64) error {
	for _, r := range list {
		if c := s[r.Name]; c != nil && c.Seq == r.Seq && c.Made < r.Made {
			c.beatRow = r
		}
	}
	return nil
}
