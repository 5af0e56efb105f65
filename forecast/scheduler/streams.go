package scheduler

import (
	"slices"
	"sync"
	"time"

	"gridbroker/forecast/turns"
)

// Streams of events: so many may one subject or one stranger's address have, and
// so many all strangers together; so long a stranger's stays where others have no
// fewer; and so long may a reader not read.
const (
	ownStreams     = 16
	strangeStreams = 256
	strangeTurn    = time.Minute
	readerPatience = 30 * time.Second
)

// streams are those open, of each subject the oldest first.
type streams struct {
	now       func() time.Time
	mu        sync.Mutex
	of        map[string][]*opened
	strangers int
	last      int
}

type opened struct {
	number int
	since  time.Time
	end    func()
}

// open lets a subject have one more stream: what it returns is to be called when
// that has ended, end ends it before; nil where it may have none. Where
// strangers have all of theirs, somebody makes room or there is none.
func (s *streams) open(subject string, end func()) (closed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := len(s.of[subject])
	if own >= ownStreams || isStranger(subject) && s.strangers >= strangeStreams && !s.makeRoom(subject) {
		return nil
	}
	if s.of == nil {
		s.of = map[string][]*opened{}
	}
	s.last++
	o := &opened{s.last, s.now(), end}
	s.of[subject] = append(s.of[subject], o)
	if isStranger(subject) {
		s.strangers++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(subject, o)
	}
}

// makeRoom ends a stranger's stream for one that comes: of the network with the
// most the one that giver names. It gives way at once where the comer's network, or
// in one network his address, has fewer by two; to an address that has none when
// it has had its turn. So neither a few addresses nor a network of many keep
// others out, and many that have one each do not push each other out all the time.
func (s *streams) makeRoom(comer string) bool {
	networks := map[string]int{}
	for name, list := range s.of {
		if isStranger(name) {
			networks[network(name)] += len(list)
		}
	}
	giver := s.giver(networks)
	own, home, there := len(s.of[comer]), network(comer), network(giver)
	oldest := s.of[giver][0]
	fewer := networks[home]+2 <= networks[there]
	if home == there {
		fewer = own+2 <= len(s.of[giver])
	}
	if !fewer && (own > 0 || s.now().Sub(oldest.since) < strangeTurn) {
		return false
	}
	s.drop(giver, oldest)
	oldest.end()
	return true
}

// giver is the address with most streams of the networks with most; of those with
// as many the one of the oldest stream.
func (s *streams) giver(networks map[string]int) string {
	best := ""
	for name, list := range s.of {
		if !isStranger(name) {
			continue
		}
		if best == "" {
			best = name
			continue
		}
		other := s.of[best]
		if n, m := networks[network(name)], networks[network(best)]; n != m {
			if n > m {
				best = name
			}
		} else if len(list) > len(other) || len(list) == len(other) && list[0].number < other[0].number {
			best = name
		}
	}
	return best
}

// network is that of a stranger.
func network(stranger string) string { return turns.Network(stranger[1:]) }

// drop forgets a stream that is still counted.
func (s *streams) drop(subject string, o *opened) {
	i := slices.Index(s.of[subject], o)
	if i < 0 {
		return
	}
	if s.of[subject] = slices.Delete(s.of[subject], i, i+1); len(s.of[subject]) == 0 {
		delete(s.of, subject)
	}
	if isStranger(subject) {
		s.strangers--
	}
}
