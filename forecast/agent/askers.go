package agent

import (
	"context"
	"net"
	"sync"
)

// questionsAtOnce is how many questions of one address are worked on; further
// ones of it wait, and are dropped when their asker goes.
const questionsAtOnce = 2

// askers lets no address have all questions worked on that there is time for.
type askers struct {
	mu sync.Mutex
	of map[string]*asker
}

// asker is an address that asks something now.
type asker struct {
	places chan struct{}
	users  int
}

// take waits until a question of an address may be worked on. What it returns
// ends that; nil where the context has ended before.
func (a *askers) take(ctx context.Context, remote string) (end func()) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	a.mu.Lock()
	if a.of == nil {
		a.of = map[string]*asker{}
	}
	own := a.of[host]
	if own == nil {
		own = &asker{places: make(chan struct{}, questionsAtOnce)}
		a.of[host] = own
	}
	own.users++
	a.mu.Unlock()
	leave := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(a.of, host)
		}
	}
	select {
	case own.places <- struct{}{}:
		return func() { <-own.places; leave() }
	case <-ctx.Done():
		leave()
		return nil
	}
}
