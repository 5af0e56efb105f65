package readahead

import "sync"

// gate lets a bounded number of fetches run at once, those on demand before
// those ahead: nothing is fetched ahead while a demand waits.
type gate struct {
	mu      sync.Mutex
	change  sync.Cond
	limit   int
	running int
	demands int // waiting
}

func newGate(limit int) *gate {
	g := &gate{limit: max(1, limit)}
	g.change.L = &g.mu
	return g
}

// enter waits for a place. demanded is asked again whenever something changes:
// a fetch ahead may become one on demand while it waits.
func (g *gate) enter(demanded func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	counted := false
	for {
		if d := demanded(); d && !counted {
			counted = true
			g.demands++
		}
		if g.running < g.limit && (counted || g.demands == 0) {
			break
		}
		g.change.Wait()
	}
	if counted {
		g.demands--
	}
	g.running++
}

func (g *gate) leave() {
	g.mu.Lock()
	g.running--
	g.mu.Unlock()
	g.change.Broadcast()
}

// poke makes waiting fetches look again whether they are demanded.
func (g *gate) poke() {
	g.mu.Lock() // one that has looked and not yet begun to wait would miss the call
	defer g.mu.Unlock()
	g.change.Broadcast()
}
