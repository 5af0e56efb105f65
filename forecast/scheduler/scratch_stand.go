package scheduler

import (
	"encoding/json"

	"gridbroker/forecast/wire"
)

// stand is what a scratch database has of a cluster: of its row of the table what is not the leader's own, who
// has that in memory.
type stand struct {
	seq       int64
	digest    string
	torn      bool // the next delta is refused, for a full one
	made, ttl int64
	site      *wire.Site
	load      *wire.Load
}

// keep takes in what a delta that goes with what is here says of the cluster itself.
func (s *scratch) keep(d *wire.Delta) {
	c := s.stands[d.Cluster]
	if c == nil {
		c = &stand{}
		s.stands[d.Cluster] = c
	}
	c.torn = c.torn && !d.Full
	c.seq, c.digest, c.made, c.ttl = int64(d.Seq), d.Digest, d.Made, d.TTL
	if d.Site != nil {
		c.site = d.Site
	}
	if d.Load != nil {
		c.load = d.Load
	}
}

// row is a cluster's as the table would have it.
func (c *stand) row(name string) (r clusterRow, err error) {
	r = clusterRow{cluster: &cluster{name: name, seq: c.seq, made: c.made, ttl: c.ttl}, digest: c.digest, site: "{}", load: "{}", trust: "{}"}
	for _, part := range []struct {
		to    *string
		there bool
		v     any
	}{{&r.site, c.site != nil, c.site}, {&r.load, c.load != nil, c.load}} {
		if !part.there {
			continue
		}
		text, err := json.Marshal(part.v)
		if err != nil {
			return r, err
		}
		*part.to = string(text)
	}
	return r, nil
}

// beat takes in that a cluster's schedule still holds.
func (s *scratch) beat(b *wire.Beat, now int64) {
	if c := s.stands[b.Cluster]; c.made <= b.Made || c.made > wire.Newest(b.TTL, now) {
		c.made, c.ttl = b.Made, b.TTL
	}
}
