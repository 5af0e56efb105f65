package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Room is how much the bodies of requests may take in memory, of all who ask together. Where there is none left, those are
// given up that hold most for longest and have not arrived yet; who comes waits meanwhile. Its zero value is ready.
type Room struct {
	mu    sync.Mutex
	taken int64
	held  map[*Held]bool
	freed chan struct{} // closed when somebody gives room back
}

// ErrNoRoom is a body for which there was no room in time, or that was given up for others.
var ErrNoRoom = errors.New("there is no room for the body")

const (
	roomWait = 30 * time.Second // for room; shorter than those who ask wait
	slowRead = 10 * time.Second // who takes longer to send his body may have to make room
)

// Held is a body that is being read, and what it takes of a room until End.
type Held struct {
	room  *Room
	ctx   context.Context
	body  *Arriving
	most  int64 // bytes that the room has
	begun time.Time
	size  int64
	whole bool // it has arrived
	over  bool // it is to make room
}

// Hold begins to read a body, with a room of so many bytes.
func (r *Room) Hold(ctx context.Context, body *Arriving, size int64) *Held {
	h := &Held{room: r, ctx: ctx, body: body, most: size, begun: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held, r.freed = map[*Held]bool{}, make(chan struct{})
	}
	r.held[h] = true
	return h
}

// Read implements io.Reader. The error is ErrNoRoom where there is none.
func (h *Held) Read(p []byte) (int, error) {
	n, err := h.body.Read(p)
	if e := h.take(int64(n)); e != nil {
		return n, e
	}
	return n, err
}

// Close implements io.Closer.
func (h *Held) Close() error { return h.body.Close() }

// Whole tells that all of the body has come: from now on it makes no room.
func (h *Held) Whole() {
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	h.whole = true
}

// End gives back what a body took.
func (h *Held) End() {
	h.room.mu.Lock()
	defer h.room.mu.Unlock()
	if !h.room.held[h] {
		return
	}
	delete(h.room.held, h)
	h.room.taken -= h.size
	close(h.room.freed)
	h.room.freed = make(chan struct{})
}

// take waits for room for so many bytes more.
func (h *Held) take(n int64) error {
	until := time.Now().Add(roomWait)
	for {
		freed, err := h.room.try(h, n)
		if freed == nil || err != nil {
			return err
		}
		select {
		case <-freed:
		case <-time.After(time.Second): // somebody may be slow by now
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
		if time.Now().After(until) {
			return ErrNoRoom
		}
	}
}

// try takes room; where there is none it has somebody make some, who may be the one who asks, and returns what tells of room.
func (r *Room) try(h *Held, n int64) (freed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case h.over:
		return nil, ErrNoRoom
	case r.taken+n <= h.most:
		r.taken += n
		h.size += n
		return nil, nil
	}
	most := r.costliest(time.Now())
	if most == h {
		return nil, ErrNoRoom
	}
	if most != nil {
		most.over = true
		most.body.GiveUp()
	}
	return r.freed, nil
}

// costliest is who is to make room: of the slow who holds most for longest; nil: nobody, or somebody does already.
func (r *Room) costliest(now time.Time) (most *Held) {
	for h := range r.held {
		if h.over {
			return nil
		}
		if age := now.Sub(h.begun); !h.whole && age > slowRead && h.size > 0 && (most == nil || h.cost(now) > most.cost(now)) {
			most = h
		}
	}
	return most
}

func (h *Held) cost(now time.Time) float64 { return float64(h.size) * now.Sub(h.begun).Seconds() }
