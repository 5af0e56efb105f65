package scheduler

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// hub passes log entries on to those who watch. Who does not keep up misses
// some, and is told so by their numbers.
type hub struct {
	mu   sync.Mutex
	subs map[chan watched]bool
	over bool
}

// watched is an entry, and whose job it is about; "" where it is about none.
type watched struct {
	Entry
	owner string
}

func newHub() *hub { return &hub{subs: map[chan watched]bool{}} }

// subscribe returns a channel of entries, which is closed when the replica ends, and what ends it.
func (h *hub) subscribe() (<-chan watched, func()) {
	c := make(chan watched, 256)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		close(c)
		return c, func() {}
	}
	h.subs[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, c)
	}
}

// end ends all channels: nothing will be passed on any more.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for c := range h.subs {
		close(c)
	}
	clear(h.subs)
}

func (h *hub) publish(list []watched) {
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

// listened tells whether anybody listens.
func (h *hub) listened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) > 0
}

// relayPause is between two looks at the log, and the first of them after somebody has begun to listen
// only finds out where it ends.
const relayPause = 300 * time.Millisecond

// relay reads the log for those who listen at this replica, whoever leads.
func (s *Scheduler) relay(ctx context.Context) error {
	defer s.hub.end() // who listens would keep the replica from ending
	log := tail{last: -1}
	for s.pause(ctx, relayPause) {
		if !s.hub.listened() {
			log.last = -1
			continue
		}
		next := log.clone()
		list, err := next.entries(ctx, s.store, s.now())
		if err != nil {
			continue
		}
		if about, err := owned(ctx, s.store, list); err == nil {
			log = next
			s.hub.publish(about)
		}
	}
	return nil
}

// owned finds whose jobs entries are about: once for all who listen.
func owned(ctx context.Context, s *Store, list []Entry) ([]watched, error) {
	out, of := make([]watched, len(list)), map[string]string{}
	for i, e := range list {
		if out[i].Entry = e; e.Job != "" {
			of[e.Job] = ""
		}
	}
	ids, err := jsonText(slices.Collect(maps.Keys(of)))
	if err != nil || len(of) == 0 {
		return out, err
	}
	err = s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var id, owner string
			err := scan(&id, &owner)
			of[id] = owner
			return err
		}, "select id, owner from queue where id in (select t.value from {texts})", ids)
	})
	for i := range out {
		out[i].owner = of[out[i].Job]
	}
	return out, err
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
