package scheduler

import (
	"sync"

	"gridbroker/forecast/wire"
)

// wholeSets are full sets of slots that this process has taken in and its leader has
// not: it need not read them back from the table. Which set the table has is the
// table's to say, by its digest; one that is not here is read there.
type wholeSets struct {
	mu   sync.Mutex
	sets map[string]*wire.Set // by cluster; nil: this process does not lead
}

// keep begins, or ends, to keep sets: only a leader comes for them.
func (s *wholeSets) keep(leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets = nil; leads {
		s.sets = map[string]*wire.Set{}
	}
}

// put keeps a set, which is nobody else's from now on.
func (s *wholeSets) put(cluster string, set *wire.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets != nil {
		s.sets[cluster] = set
	}
}

// take gives a cluster's set away; nil: the one of this digest is not here.
func (s *wholeSets) take(cluster, digest string) *wire.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.sets[cluster]
	delete(s.sets, cluster) // another one was overtaken, or is not committed yet
	if set == nil || set.Digest() != digest {
		return nil
	}
	return set
}
