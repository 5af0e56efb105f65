package scheduler

import (
	"context"
	"sync"
	"time"
)

// bell tells the leader, at whatever replica it is, that there are messages.
// PostgreSQL commits transactions that notify one by one, each with a disk's
// time of its own: so it is rung once they are committed, and once for all that
// are committed meanwhile. One that is not heard costs a cycle's time: the
// messages lie in their table.
type bell struct {
	mu      sync.Mutex
	ringing bool
	again   bool
	stopped bool
	done    sync.WaitGroup
}

// wake tells the leader that there is something to take, once the transaction
// is committed.
func (q *statements) wake() {
	if q.wait != nil && q.d.driver == "pgx" {
		q.wait.wake = true
	}
}

// ring does not wait.
func (b *bell) ring(s *Store) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.again = b.ringing; b.ringing || b.stopped {
		return
	}
	b.ringing = true
	b.done.Go(func() {
		for more := true; more; more = b.more() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			s.db.ExecContext(ctx, "notify grid_scheduler") // not heard: see above
			cancel()
		}
	})
}

// more tells whether something was committed while it rang.
func (b *bell) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ringing = b.again && !b.stopped
	b.again = false
	return b.ringing
}

// stop waits until it is silent.
func (b *bell) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.done.Wait()
}
