package scheduler

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// comeback is who waits for the database to answer again. One asks it for all.
type comeback struct {
	mu      sync.Mutex
	back    chan struct{} // closed when it answers; nil: nobody has waited
	waiting int
	turns   int // who have waited since then
	// patience is for how long a replica is waited for that leads; 0: readyLead.
	patience time.Duration
}

const (
	// readyTime is how long somebody is kept waiting at most.
	readyTime = 25 * time.Second
	// readyPause is between two questions to a database that does not answer.
	readyPause = 100 * time.Millisecond
	// readyStep is between two who are told: all come with their news then, and a
	// database that has just come back takes 500 a second.
	readyStep = 2 * time.Millisecond
	// readyLead is how long a replica may take to lead before agents are told: one that leads before they come still has their
	// slots in memory, and books what users hand in while they come. Their news would be read from the tables, and first.
	readyLead = time.Second
)

// ready answers when the database does, at once where it does now. Agents that were told
// that it does not wait here: they would be back after a pause as long as the outage allows
// else, and their clusters be closed until then.
func (a desk) ready(ctx context.Context, in *struct {
	Name string `path:"name" maxLength:"256"`
}) (*struct{}, error) {
	if err := a.speaksFor(ctx, in.Name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if answers(ctx, a.S.store) {
		return nil, nil
	}
	back, turn := a.S.comeback.join(a.S)
	defer a.S.comeback.leave()
	select {
	case <-back:
	case <-ctx.Done():
		return nil, huma.Error503ServiceUnavailable("the database does not answer yet")
	}
	a.S.pause(ctx, time.Duration(turn)*readyStep)
	return nil, nil
}

// join waits with the others.
func (c *comeback) join(s *Scheduler) (back <-chan struct{}, turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting++
	if c.back == nil {
		c.back, c.turns = make(chan struct{}), 0
		go c.watch(s)
	}
	c.turns++
	return c.back, c.turns - 1
}

func (c *comeback) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
}

// watch asks until there is an answer, or nobody waits any more.
func (c *comeback) watch(s *Scheduler) {
	var back time.Time
	for {
		there := answers(context.Background(), s.store)
		if there && back.IsZero() {
			back = time.Now()
		}
		there = there && (time.Since(back) >= cmp.Or(c.patience, readyLead) || goesOn(s))
		c.mu.Lock()
		if there {
			close(c.back)
		}
		if there || c.waiting == 0 {
			c.back = nil
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		s.pause(context.Background(), readyPause)
	}
}

// goesOn tells whether a replica leads again; this one has taken over what was there when it has planned once.
func goesOn(s *Scheduler) bool {
	s.mu.Lock()
	leads, taken := s.lead > 0, s.mem != nil
	s.mu.Unlock()
	if leads {
		return taken
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	other, err := led(ctx, s.store)
	return other && err == nil
}

// answers tells whether the database does, within a second.
func answers(ctx context.Context, s *Store) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error { var epoch int64; return scan(&epoch) }, "select epoch from leader")
	}) == nil
}
