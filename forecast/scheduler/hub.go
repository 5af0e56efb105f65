package scheduler

import (
	"context"
	"sync"
	"time"
)

// hub passes log entries on to those who watch. Who does not keep up misses
// some, and is told so by their numbers.
type hub struct {
	mu   sync.Mutex
	subs map[chan Entry]bool
}

func newHub() *hub { return &hub{subs: map[chan Entry]bool{}} }

// subscribe returns a channel of entries and what ends it.
func (h *hub) subscribe() (<-chan Entry, func()) {
	c := make(chan Entry, 256)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, c)
	}
}

func (h *hub) publish(list []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subs {
		for _, e := range list {
			select {
			case c <- e:
			default:
			}
		}
	}
}

// watched tells whether anybody listens.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) > 0
}

// relay reads the log for those who listen at this replica, whoever leads.
func (s *Scheduler) relay(ctx context.Context) error {
	last := int64(-1)
	for s.pause(ctx, 300*time.Millisecond) {
		if !s.hub.watched() {
			last = -1
			continue
		}
		if last < 0 {
			if last = s.store.lastEntry(ctx); last < 0 {
				continue
			}
		}
		list, err := s.store.Log(ctx, "", last, 1000)
		if err != nil || len(list) == 0 {
			continue
		}
		last = list[len(list)-1].ID
		s.hub.publish(list)
	}
	return nil
}

// lastEntry is the number of the newest entry; -1 where that is not known.
func (s *Store) lastEntry(ctx context.Context) (id int64) {
	err := s.read(ctx, func(h handle) error {
		return h.tx.QueryRowContext(ctx, "select coalesce(max(id), 0) from log").Scan(&id)
	})
	if err != nil {
		return -1
	}
	return id
}
