package scheduler

import "sync"

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
