package infosys

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gridbroker/glue"
)

// clockGrain is how far clocks of one machine's processes may seem to differ.
const clockGrain = time.Second

// DefaultDeadline bounds a collection when the Collector names no other.
const DefaultDeadline = 8 * time.Second

// Snapshot is what all sources said, at one time. A partial one is normal:
// Outcomes tells what is missing.
type Snapshot struct {
	At        time.Time       `json:"at"`
	Resources []glue.Resource `json:"resources"` // views of one share merged, sorted by ID
	Outcomes  []Outcome       `json:"sources"`   // one per source, in the order given
}

// Outcome is how asking one source went.
type Outcome struct {
	Source    string        `json:"source"`
	Resources int           `json:"resources"`
	Took      time.Duration `json:"-"`
	Fetched   time.Time     `json:"fetched,omitzero"` // when the answer left the source
	Cached    bool          `json:"cached,omitzero"`  // answered from the cache
	Stale     bool          `json:"stale,omitzero"`   // from the cache because the source did not answer
	// Refused are endpoints that the source named without being allowed to,
	// the first of them; MoreRefused counts the others.
	Refused     []Claim `json:"refused,omitzero"`
	MoreRefused int     `json:"-"`
	// Err is why the source did not answer, or not fully; with Cached or
	// Resources > 0 there are resources all the same.
	Err error `json:"-"`
}

// outcomeDocument is an outcome for machines.
type outcomeDocument struct {
	Source      string    `json:"source"`
	Resources   int       `json:"resources"`
	Took        float64   `json:"took_seconds"`
	Fetched     time.Time `json:"fetched,omitzero"` // when the answer left the source
	Cached      bool      `json:"cached,omitzero"`  // answered from the cache
	Stale       bool      `json:"stale,omitzero"`   // from the cache because the source did not answer
	Refused     []Claim   `json:"refused,omitzero"` // endpoints that the source may not name
	MoreRefused int       `json:"more_refused,omitzero"`
	Error       string    `json:"error,omitzero"`
}

// Document is the outcome with the time taken in seconds and the error as text.
func (o Outcome) Document() outcomeDocument {
	doc := outcomeDocument{Source: o.Source, Resources: o.Resources, Took: o.Took.Seconds(), Fetched: o.Fetched, Cached: o.Cached,
		Stale: o.Stale, Refused: o.Refused, MoreRefused: o.MoreRefused}
	if o.Err != nil {
		doc.Error = o.Err.Error()
	}
	return doc
}

// MarshalJSON writes what Document tells.
func (o Outcome) MarshalJSON() ([]byte, error) { return json.Marshal(o.Document()) }

// Age is how old the answer is at now; 0 when there is none.
func (o Outcome) Age(now time.Time) time.Duration {
	if o.Fetched.IsZero() {
		return 0
	}
	return max(0, now.Sub(o.Fetched))
}

// Collector asks sources. The zero Collector works: no cache, DefaultDeadline.
type Collector struct {
	Deadline time.Duration // 0: DefaultDeadline; the context's own may be sooner
	Cache    *Cache        // nil: none
	MaxAge   time.Duration // answers in the cache not older are used without asking; 0: always ask
	Now      func() time.Time
	Rules    Rules // what the back-ends leave to sources that are not their own
}

// Collect asks all sources at once and returns when the last has answered or
// the deadline has passed, whatever a source does: one that is dead, hangs or
// talks nonsense costs its own resources alone.
func (c *Collector) Collect(ctx context.Context, srcs ...Source) Snapshot {
	limit := cmp.Or(c.Deadline, DefaultDeadline)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type reply struct {
		i int
		answer
	}
	replies := make(chan reply, len(srcs))
	started := c.now()
	for i, src := range srcs {
		go func() { replies <- reply{i, c.ask(ctx, src)} }()
	}
	answers := make([]answer, len(srcs))
	open := len(srcs)
	for open > 0 {
		select {
		case r := <-replies:
			answers[r.i] = r.answer
			open--
			continue
		case <-ctx.Done():
		}
		// Sources that honour the context answer now; a little patience lets
		// them say how far they got. The others are left behind.
		open -= drain(replies, limit/50, func(r reply) { answers[r.i] = r.answer })
		break
	}
	for i, src := range srcs {
		if !answers[i].done {
			answers[i] = c.fallback(src, answer{Outcome: Outcome{
				Source: src.Name(), Took: c.now().Sub(started), Err: noAnswer(ctx, limit)}})
		}
	}
	return c.snapshot(srcs, answers)
}

// drain takes replies in until patience ends and returns how many.
func drain[T any](replies <-chan T, patience time.Duration, take func(T)) (n int) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case r := <-replies:
			take(r)
			n++
		case <-timer.C:
			return n
		}
	}
}

// noAnswer says why a source has no answer yet.
func noAnswer(ctx context.Context, limit time.Duration) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return timeoutError(fmt.Sprintf("no answer within %s", limit))
	}
	return ctx.Err()
}

// timeoutError is context.DeadlineExceeded in words for people.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }

// answer is an Outcome with its resources.
type answer struct {
	Outcome
	rs   []glue.Resource
	done bool
}

// ask gets one source's answer: a fresh one of the cache, the source's, or an
// old one of the cache. One that is cut short because there is too much of it
// is as good as any that the source will give.
func (c *Collector) ask(ctx context.Context, src Source) answer {
	start := c.now()
	if c.MaxAge > 0 {
		a, ok := c.cached(src, start.Add(-c.MaxAge))
		if ok && !a.Fetched.After(start.Add(clockGrain)) { // else the clock was set back, and its age is not known
			a.Took = c.now().Sub(start)
			return a
		}
	}
	rs, err := src.Resources(ctx)
	a := answer{done: true, rs: rs, Outcome: Outcome{Source: src.Name(), Err: err, Took: c.now().Sub(start)}}
	_, most := errors.AsType[glue.LimitError](err)
	if err != nil && !most {
		return c.fallback(src, a)
	}
	a.Fetched = c.now()
	for i := range rs {
		if !rs[i].Fetched.IsZero() { // read from a snapshot: as old as that is
			a.Fetched = minTime(a.Fetched, rs[i].Fetched)
		} else {
			rs[i].Fetched = a.Fetched
		}
	}
	if c.Cache != nil && !uncached(src) {
		c.Cache.save(cacheKey(src), saved{fetched: a.Fetched, rs: rs, err: err})
	}
	return a
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// fallback puts the cache's answer, marked stale, in the place of a failed
// one. Of a partial answer only what is missing comes from the cache.
func (c *Collector) fallback(src Source, a answer) answer {
	a.done = true
	old, ok := c.cached(src, time.Time{})
	if !ok {
		return a
	}
	old.reckon(c.now())
	fresh := make(map[string]bool, len(a.rs))
	for i := range a.rs {
		fresh[a.rs[i].ID] = true
	}
	for i := range old.rs {
		if old.rs[i].Stale = true; !fresh[old.rs[i].ID] {
			a.rs = append(a.rs, old.rs[i])
		}
	}
	a.Fetched, a.Cached, a.Stale = old.Fetched, true, true
	return a
}

// reckon has an answer that seems to be of the future, since the clock was set back, be as old as it is far from now: how old
// it is nobody knows, and one of today is not to count for a year as if it had just come.
func (a *answer) reckon(now time.Time) {
	if !a.Fetched.After(now.Add(clockGrain)) {
		return
	}
	back := 2 * a.Fetched.Sub(now)
	a.Fetched = a.Fetched.Add(-back)
	for i := range a.rs {
		if a.rs[i].Fetched.After(now) {
			a.rs[i].Fetched = a.rs[i].Fetched.Add(-back)
		}
	}
}

func (c *Collector) cached(src Source, since time.Time) (answer, bool) {
	if c.Cache == nil || uncached(src) {
		return answer{}, false
	}
	a, ok := c.Cache.load(cacheKey(src), since)
	return answer{done: true, rs: a.rs, Outcome: Outcome{Source: src.Name(), Fetched: a.fetched, Cached: true, Err: a.err}}, ok
}

// snapshot merges what the sources were allowed to say, those that the cache
// answered for included.
func (c *Collector) snapshot(srcs []Source, answers []answer) Snapshot {
	s := Snapshot{At: c.now()}
	parts := make([][]glue.Resource, len(answers))
	for i, a := range answers {
		parts[i], a.Refused, a.MoreRefused = c.Rules.admit(srcs[i], a.rs)
		a.Resources = len(parts[i])
		s.Outcomes = append(s.Outcomes, a.Outcome)
	}
	if len(answers) == 1 {
		s.Resources = parts[0]
	} else {
		s.Resources = glue.Merge(s.At, parts...)
	}
	return s
}

func (c *Collector) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// Slots is how many queues and slots there are. Queues that share nodes publish
// the same free slots each, queues with nodes of their own do not, and no schema
// tells which it is: Free counts of each cluster only the queue with the most,
// AtMost all of its queues, but no more than the cluster has.
type Slots struct {
	Queues              int
	Free, AtMost, Total int64
}

// Slots counts each cluster once, however many views of its queues there are
// and however many CEs stand before it.
func (s Snapshot) Slots() Slots {
	type cluster struct{ site, name string }
	type queue struct {
		of   cluster
		name string
	}
	type sum struct{ most, all, total int64 }
	frees, sums := map[queue]int64{}, map[cluster]sum{}
	for i := range s.Resources {
		r := &s.Resources[i]
		q := queue{cluster{r.Site, r.ClusterName()}, r.Queue}
		frees[q] = max(frees[q], r.FreeSlots.V)
		c := sums[q.of]
		c.total = max(c.total, r.TotalSlots.V)
		sums[q.of] = c
	}
	for q, n := range frees {
		c := sums[q.of]
		c.most, c.all = max(c.most, n), c.all+n
		sums[q.of] = c
	}
	count := Slots{Queues: len(frees)}
	for _, c := range sums {
		if c.total > 0 {
			c.most, c.all = min(c.most, c.total), min(c.all, c.total)
		}
		count.Free, count.AtMost, count.Total = count.Free+c.most, count.AtMost+c.all, count.Total+c.total
	}
	return count
}
