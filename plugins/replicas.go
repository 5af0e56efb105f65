package plugins

import (
	"context"
	"slices"
	"sync/atomic"
)

// Replicas are the addresses of one service: what one of them has done all of them know.
type Replicas struct {
	Bases []string
	asked atomic.Uint32 // which one is asked, modulo their number
}

// Standing is how one replica has left what was asked of it.
type Standing int

// The standings.
const (
	Answered Standing = iota // it has answered, be it with a no
	Undone                   // it has done nothing, or doing it again is nothing
	Doubtful                 // it did not answer, and may have done it
)

// Current is the one that is asked first.
func (r *Replicas) Current() string { return r.Bases[int(r.asked.Load())%len(r.Bases)] }

// Begin has one asked first; none where it is not among them.
func (r *Replicas) Begin(base string) {
	if i := slices.Index(r.Bases, base); i >= 0 {
		r.asked.Store(uint32(i))
	}
}

// Ask asks the replica that answered last, as long as it does. Where it has left what was asked undone
// the next one is asked at once, each once at most; where that is in doubt, next time. last tells that
// no other will be asked, so that this one is worth waiting for.
func (r *Replicas) Ask(ctx context.Context, ask func(base string, last bool) Standing) {
	for left := len(r.Bases); left > 0; left-- {
		base := r.Current()
		stands := ask(base, left == 1)
		if stands == Answered || ctx.Err() != nil {
			return
		}
		if r.Pass(base); stands == Doubtful {
			return
		}
	}
}

// Pass has another one asked than one that did not answer.
func (r *Replicas) Pass(base string) {
	if at := r.asked.Load(); r.Bases[int(at)%len(r.Bases)] == base {
		r.asked.CompareAndSwap(at, at+1)
	}
}
