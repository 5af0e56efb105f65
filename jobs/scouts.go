package jobs

import (
	"net/url"
	"slices"
	"sync"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Scouts bounds what a black hole, a resource that takes jobs and fails each
// at once, can swallow: where there is a choice, a resource of which nobody
// knows that it runs jobs gets only a few of a call's. It is proven by history
// or a pin, and in the call itself by a job that ended well, has been running
// for a minute, or has been in its queue for ten minutes while none failed.
//
// When the jobs are followed by Wait, the others stay with us until the scouts
// have shown something; else they go to resources that are proven, if any are.
type Scouts struct {
	jobs int  // per resource
	wait bool // the others are kept back

	mu   sync.Mutex
	by   map[string]*trust    // by resource
	at   map[string]string    // the computing element of each resource
	mute map[string]time.Time // endpoints that did not answer: not tried until then
	held map[string]bool      // jobs that were kept back, by id
	news bool                 // since they were kept back
	off  bool                 // no limit any more
}

// trust is what one call has seen of a resource.
type trust struct {
	sent, bad int
	verified  int // jobs whose files were looked at
	proven    bool
	odd       bool // jobs end well there, but too soon
}

// failed reports whether enough scouts have failed, and none has done better.
func (t trust) failed(limit int) bool { return t.odd || !t.proven && t.bad >= min(limit, enough) }

// enough is how many failed scouts condemn a resource for the rest of a call.
const enough = 3

// muteFor is how long an endpoint that did not answer gets no job of the
// call where history does not ban it.
const muteFor = 10 * time.Minute

// NewScouts allows that many jobs per resource that is not proven. With wait
// the others are kept back for Wait to send.
func NewScouts(jobs int, wait bool) *Scouts {
	return &Scouts{jobs: jobs, wait: wait, by: map[string]*trust{}, at: map[string]string{}, mute: map[string]time.Time{}, held: map[string]bool{}}
}

// Most is how many jobs a resource gets before it is proven.
func (s *Scouts) Most() int { return s.jobs }

// Waits reports whether the others are kept back to be sent later.
func (s *Scouts) Waits() bool { return s.wait }

func (s *Scouts) trust(resource string) *trust {
	t := s.by[resource]
	if t == nil {
		t = &trust{}
		s.by[resource] = t
	}
	return t
}

// places sums up what is known of the resources of each computing element: its
// queues have the same nodes and the same faults, so a call's first jobs are
// few for all of them together. One of them that is proven speaks for none of
// the others, and then each is judged by itself.
func (s *Scouts) places() map[string]trust {
	all := map[string]trust{}
	for id, t := range s.by {
		at := s.at[id]
		if at == "" {
			continue
		}
		sum := all[at]
		all[at] = trust{sent: sum.sent + t.sent, bad: sum.bad + t.bad, proven: sum.proven || t.proven}
	}
	return all
}

// within is what is known of a resource and, where nothing there is proven, of
// its computing element.
func within(t, place trust) trust {
	if !t.proven && !place.proven && place.sent > 0 {
		t.sent, t.bad = max(t.sent, place.sent), max(t.bad, place.bad)
	}
	return t
}

// stands remembers where a resource is.
func (s *Scouts) stands(resource string, e glue.Endpoint) {
	if s.at[resource] == "" && e.URL != "" {
		s.at[resource] = placeOf(e)
	}
}

// known is what is known of a resource without beginning to remember it.
func (s *Scouts) known(r *glue.Resource) trust {
	if t := s.by[r.ID]; t != nil {
		return *t
	}
	return trust{}
}

// caution sets how many of a call's jobs each candidate may have, and speaks
// against those whose scouts failed or that did not answer, unless nothing
// else is left.
func (s *Scouts) caution(cs []rank.Candidate, now time.Time) []*broker.Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(cs)
	against := make([]*broker.Reason, len(cs))
	known := make([]trust, len(cs))
	places := s.places()
	left, proven := false, false
	for i, c := range cs {
		if known[i] = s.known(c.Resource); len(places) > 0 {
			known[i] = within(known[i], places[placeOf(c.Endpoint)])
		}
		if against[i] = s.against(known[i], c.Endpoint, now); against[i] == nil {
			left = true
			proven = proven || known[i].proven
		}
	}
	if !left || !choice(cs) {
		return nil
	}
	for i := range cs {
		if t := known[i]; against[i] == nil && !s.off && !t.proven && (s.wait || proven) {
			cs[i].Limit = rank.Limit{On: true, Jobs: max(0, s.jobs-t.sent), Wait: s.wait}
		}
	}
	return against
}

// learn takes in what history knows.
func (s *Scouts) learn(cs []rank.Candidate) {
	for _, c := range cs {
		if h := c.History; h != nil && (h.Proven || h.Odd >= enough) {
			t := s.trust(c.Resource.ID)
			t.proven, t.odd = t.proven || h.Proven, h.Odd >= enough
		}
	}
}

// choice reports whether candidates are at several places: a computing
// element is one, however many queues it has.
func choice(cs []rank.Candidate) bool {
	return slices.ContainsFunc(cs, func(c rank.Candidate) bool { return placeOf(c.Endpoint) != placeOf(cs[0].Endpoint) })
}

// against is what the call itself has seen against a candidate.
func (s *Scouts) against(t trust, e glue.Endpoint, now time.Time) *broker.Reason {
	no := func(have broker.Fact) *broker.Reason {
		return &broker.Reason{Filter: broker.ByHealth, Want: broker.Fact{Kind: broker.WorkingResource}, Have: have, Temporary: true}
	}
	switch {
	case t.odd:
		return no(broker.Fact{Kind: broker.EndedTooSoon})
	case t.failed(s.jobs):
		return no(broker.Fact{Kind: broker.FirstJobsFailed, Amount: float64(t.bad)})
	case s.mute[e.URL].After(now):
		return no(broker.Fact{Kind: broker.Mute})
	}
	return nil
}

// placeOf is where an endpoint is: its host, or what else there is.
func placeOf(e glue.Endpoint) string {
	if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return e.URL
}

// choose makes the first choice one that may have the job now, and counts the
// job there. ok is false where the job is kept back.
func (s *Scouts) choose(r *Record) (ok bool) {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := 0
	places := s.places()
	for i, c := range r.Choices {
		s.stands(c.Resource, c.Endpoint)
		if t := within(*s.trust(c.Resource), places[s.at[c.Resource]]); !c.Unproven || s.off || t.proven || t.sent < s.jobs {
			at = i
			break
		}
		if s.wait {
			s.held[r.ID] = true
			return false
		}
	}
	r.Choices = r.Choices[at:]
	s.trust(r.Choices[0].Resource).sent++
	delete(s.held, r.ID)
	return true
}

// back takes back the count of a job that its resource did not take.
func (s *Scouts) back(r *Record) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust(r.Resource).sent--
	s.news = true
}

// silent remembers an endpoint that could not be used.
func (s *Scouts) silent(endpoint string, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute[endpoint] = now.Add(muteFor)
}

// see learns from the states of all jobs of the call.
func (s *Scouts) see(rs []*Record, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, then := map[string]trust{}, s.places()
	for name, t := range s.by {
		before[name] = *t
		t.sent, t.bad = 0, 0
	}
	for _, r := range rs {
		s.count(r, now)
	}
	for _, r := range rs {
		if t := s.trust(r.Resource); waited(r, now) && t.bad == 0 {
			t.proven = true
		}
	}
	for name, t := range s.by {
		b := before[name]
		s.news = s.news || t.proven != b.proven || t.failed(s.jobs) != b.failed(s.jobs)
	}
	for name, t := range s.places() {
		s.news = s.news || t.failed(s.jobs) != then[name].failed(s.jobs)
	}
}

// count adds a job's attempts, where they were, to what is known of the places.
func (s *Scouts) count(r *Record, now time.Time) {
	for _, p := range r.Past {
		if p.Handle.ID == "" || p.State == plugins.Cancelled {
			continue // it was not there, or ended as we wished
		}
		s.stands(p.Resource, glue.Endpoint{URL: p.Handle.Endpoint})
		t := s.trust(p.Resource)
		t.sent++
		t.bad++
	}
	if r.State == plugins.Intended || r.Resource == "" {
		return
	}
	s.stands(r.Resource, glue.Endpoint{URL: r.Handle.Endpoint})
	t := s.trust(r.Resource)
	t.sent++
	switch {
	case r.State == plugins.Cancelled:
	case r.Failure():
		t.bad++
	case r.Final(), r.State == plugins.Running && r.Uncertain.IsZero() && !r.Started.IsZero() && now.Sub(r.Started) >= rank.ProofRun:
		t.proven = true
	}
}

// waited reports whether a job has been in its queue for long.
func waited(r *Record, now time.Time) bool {
	return !r.Final() && r.Uncertain.IsZero() && r.Handle.ID != "" && !r.Sent.IsZero() && now.Sub(r.Sent) >= rank.ProofWait
}

// due takes out the jobs that were kept back while there are no news since.
// When they wait for nothing any more, and no resource is proven, the limit is
// lifted: jobs that fail wherever they are sent are at fault themselves.
func (s *Scouts) due(ready []*Outcome, all []*Outcome) []*Outcome {
	if s == nil {
		return ready
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held := slices.ContainsFunc(ready, func(o *Outcome) bool { return s.held[o.ID] })
	if held && !s.news && !underWay(all) {
		s.off, s.news = true, true
	}
	var due []*Outcome
	for _, o := range ready {
		if s.news || !s.held[o.ID] {
			due = append(due, o)
			delete(s.held, o.ID)
		}
	}
	s.news = false
	return due
}

func underWay(os []*Outcome) bool {
	for _, o := range os {
		if !o.Final() && o.State != plugins.Intended {
			return true
		}
	}
	return false
}
