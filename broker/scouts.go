package broker

import (
	"sync"
	"time"

	"gridbroker/plugins"
)

// provenAfter is how long a job must have been running for its resource to
// have shown that it is no black hole.
const provenAfter = time.Minute

// Scouts bounds what a black hole can swallow while jobs are waited for: a
// resource gets at most a few of the jobs until one of them has ended well
// there, or has been running for a minute. The others stay with us and go where
// the first scouts come back from. The price is that they wait for them.
type Scouts struct {
	limit int

	mu      sync.Mutex
	by      map[string]*trust // by resource
	held    map[string]bool   // jobs that were kept back, by id
	changed bool              // since they were kept back
}

// trust is what one call has seen of a resource.
type trust struct {
	sent   int
	proven bool
}

// NewScouts allows limit jobs per resource that has not proven itself.
func NewScouts(limit int) *Scouts {
	return &Scouts{limit: limit, by: map[string]*trust{}, held: map[string]bool{}}
}

func (s *Scouts) trust(resource string) *trust {
	t := s.by[resource]
	if t == nil {
		t = &trust{}
		s.by[resource] = t
	}
	return t
}

// choose drops the choices before the first that may have the job now, and
// counts the job there. ok is false where it must be kept back.
func (s *Scouts) choose(r *Record) (ok bool) {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range r.Choices {
		if t := s.trust(c.Resource); t.proven || t.sent < s.limit {
			t.sent++
			r.Choices = r.Choices[i:]
			delete(s.held, r.ID)
			return true
		}
	}
	s.held[r.ID] = true
	return false
}

// see learns from the states of jobs.
func (s *Scouts) see(rs []*Record, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rs {
		well := r.State == plugins.Done && !r.Failure() ||
			r.State == plugins.Running && !r.Started.IsZero() && now.Sub(r.Started) >= provenAfter
		if t := s.trust(r.Resource); well && !t.proven {
			t.proven, s.changed = true, true
		}
	}
}

// due takes out the jobs that were kept back while nothing has changed since.
// When they wait for nothing any more every resource may have some scouts anew.
func (s *Scouts) due(ready []*Record, all []*Record) []*Record {
	if s == nil {
		return ready
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed && !underWay(all) {
		for _, t := range s.by {
			t.sent = 0
		}
		s.changed = true
	}
	var due []*Record
	for _, r := range ready {
		if s.changed || !s.held[r.ID] {
			due = append(due, r)
		}
	}
	s.changed = false
	return due
}

func underWay(rs []*Record) bool {
	for _, r := range rs {
		if !r.Final() && r.State != plugins.Intended {
			return true
		}
	}
	return false
}
