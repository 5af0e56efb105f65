package scheduler

import (
	"sync"
	"time"

	"gridbroker/forecast/wire"
)

// arrivals are what this process has taken in of clusters' slots and its leader has not: it
// need not read full sets back from the table, nor deltas out of their messages. Which
// of it is committed is the database's to say; what is not here is read there.
type arrivals struct {
	mu     sync.Mutex
	sets   map[string]*wire.Set // by cluster; nil: this process does not lead
	deltas map[string][]*wire.Delta
	left   map[string]*wire.Set // what it had in memory when it last led, or a cycle failed
	drop   *time.Timer          // that ends it
}

// maxFresh bounds the deltas of a cluster that wait for the leader.
const maxFresh = 64

// keep begins, or ends, to keep what comes in: only a leader comes for it.
func (s *arrivals) keep(leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets, s.deltas = nil, nil; leads {
		s.sets, s.deltas = map[string]*wire.Set{}, map[string][]*wire.Delta{}
	}
}

// leftFor is how long slots are kept that a leader had in memory when it lost its database: where it leads again by
// then it has not to read them all, while everybody waits for it.
const leftFor = time.Minute

// leave keeps the sets of a memory that is used no more: what they are, their digests tell.
func (s *arrivals) leave(m *memory) {
	if m == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drop != nil {
		s.drop.Stop()
	}
	if s.left == nil {
		s.left = make(map[string]*wire.Set, len(m.clusters))
	}
	for name, c := range m.clusters {
		s.left[name] = c.set
	}
	s.drop = time.AfterFunc(leftFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.left = nil
	})
}

// put keeps a set, which is nobody else's from now on.
func (s *arrivals) put(cluster string, set *wire.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets != nil {
		s.sets[cluster] = set
	}
}

// take gives a cluster's set away; nil: the one of this digest is not here.
func (s *arrivals) take(cluster, digest string) *wire.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	set, left := s.sets[cluster], s.left[cluster]
	delete(s.sets, cluster) // another one was overtaken, or is not committed yet
	delete(s.left, cluster)
	switch {
	case set != nil && set.Digest() == digest:
		return set
	case left != nil && left.Digest() == digest:
		return left
	}
	return nil
}

// add keeps a delta that nobody changes from now on.
func (s *arrivals) add(d *wire.Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deltas == nil {
		return
	}
	list := s.deltas[d.Cluster]
	s.deltas[d.Cluster] = append(list[max(0, len(list)+1-maxFresh):], d)
}

// next gives the delta of a message away, and drops those before it; nil: it is not here.
func (s *arrivals) next(m *slotsMessage) *wire.Delta {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.deltas[m.Cluster]
	for i, d := range list {
		if d.Seq == m.Seq && d.Made == m.Made && d.Digest == m.Digest {
			s.deltas[m.Cluster] = list[i+1:]
			return d
		}
	}
	return nil
}
