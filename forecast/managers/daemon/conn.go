package daemon

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"
)

// conn is one end of a link.
type conn struct {
	peer string
	out  chan frame
	end  context.CancelFunc
	ctx  context.Context
	seen atomic.Int64 // when something was last heard, in Unix milliseconds
}

// queueLength bounds the lines that wait for a slow neighbour; a fuller queue ends the link.
const queueLength = 4096

func newConn(ctx context.Context, peer string) *conn {
	c := &conn{peer: peer, out: make(chan frame, queueLength)}
	c.ctx, c.end = context.WithCancel(ctx)
	c.heard()
	return c
}

func (c *conn) heard() { c.seen.Store(time.Now().UnixMilli()) }

// send queues a line; a neighbour that takes none is cut off.
func (c *conn) send(f frame) {
	select {
	case c.out <- f:
	default:
		c.end()
	}
}

// write sends what is queued, and signs of life, until the link ends, which it does
// where the neighbour takes nothing for four beats.
func (c *conn) write(out io.Writer, flush func(), beat time.Duration) {
	defer c.end()
	enc := json.NewEncoder(out)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	stuck := time.AfterFunc(4*beat, c.end)
	defer stuck.Stop()
	for {
		f := frame{}
		stuck.Stop()
		select {
		case <-c.ctx.Done():
			return
		case f = <-c.out:
		case <-tick.C:
			if time.Now().UnixMilli()-c.seen.Load() > (4 * beat).Milliseconds() {
				return
			}
		}
		stuck.Reset(4 * beat)
		if enc.Encode(f) != nil {
			return
		}
		if len(c.out) == 0 {
			flush()
		}
	}
}
