package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// conn is one end of a link.
type conn struct {
	peer string
	who  string // whose certificate it shows; its name where none is seen
	tree string // the root that this manager must have for the peer to be its child
	out  chan *frame
	end  context.CancelFunc
	ctx  context.Context
	seen atomic.Int64 // when something was last heard, in Unix milliseconds
	// told is the weight of what it tells of free resources and of systems; the daemon's mutex is held.
	told, kinds int
	queued      atomic.Int64 // the weight of what waits in out
	all         *incoming    // nil: nobody else's are looked at
	counted     int64        // of queued, what counts for its certificate; the mutex of all is held
	over        bool         // nothing counts any more; the same
	// stands tells whether the other side's certificate is believed now; nil: nothing is checked.
	stands atomic.Pointer[func() bool]
}

// queueLength bounds the lines that wait for a slow neighbour; a fuller queue ends the link.
const queueLength = 4096

func newConn(ctx context.Context, peer string) *conn {
	c := &conn{peer: peer, who: peer, out: make(chan *frame, queueLength)}
	c.ctx, c.end = context.WithCancel(ctx)
	c.heard()
	return c
}

// shows takes down whose certificate the other side has: the key, which others on its host do not have. The link ends with
// the certificate, and within a beat with what the authorities of now (nil: nobody is asked) do not believe; the next one is made
// with that which is there by then.
func (c *conn) shows(state *tls.ConnectionState, authorities func() Authorities) {
	if key := keyOf(state); key != "" {
		c.who = key
	}
	if until, ok := endOf(state); ok {
		timer := time.AfterFunc(time.Until(until), c.end)
		context.AfterFunc(c.ctx, func() { timer.Stop() })
	}
	if authorities != nil {
		s := new(standing)
		stands := func() bool { return s.asks(state, authorities()) == nil }
		c.stands.Store(&stands)
	}
}

// keyOf names the key of the certificate that the other side has; "" without one.
func keyOf(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo))
}

func (c *conn) heard() { c.seen.Store(time.Now().UnixMilli()) }

// send queues a line; a neighbour that takes none is cut off, as is one to whose certificate as much waits to be written as may.
func (c *conn) send(f frame) {
	weight := f.weight()
	if was := c.queued.Add(weight) - weight; was > 0 && was+weight > maxQueued || !c.wait(weight) {
		c.end()
		return
	}
	select {
	case c.out <- &f:
	default:
		c.end()
	}
}

// maxQueued bounds the descriptions that wait for a slow neighbour beyond the first one, in bytes.
const maxQueued = 6 << 20

// weight is that of the descriptions in a line.
func (f *frame) weight() int64 {
	if f.Message == nil {
		return 0
	}
	return int64(f.Message.Rooms.Weight() + f.Message.Whole.Weight())
}

// encode writes a line; of several large ones to one certificate a few at a time, as the text of each is in memory until it is taken.
func (c *conn) encode(enc *json.Encoder, f *frame) error {
	weight := f.weight()
	defer c.done(weight)
	if weight > longLine && c.all != nil {
		turn := c.all.written.Take(c.ctx, c.who, largeAtOnce)
		if turn == nil {
			return c.ctx.Err()
		}
		defer turn()
	}
	return enc.Encode(f)
}

// maxUnread bounds what waits to be written over all links of one certificate beyond the first line, in bytes: a host may have
// many brokers and managers, and a table has some hundred KB where it is a large one.
const maxUnread = 64 << 20

// allUnread bounds that over all links of all certificates.
const allUnread = 4 * maxUnread

// wait counts a line that is to be written among those of its certificate, and returns whether there is room.
func (c *conn) wait(weight int64) bool {
	if c.all == nil || weight == 0 {
		return true
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.over || c.all.waiting.of[c.who] > 0 && !c.all.waiting.fits(c.who, weight, maxUnread, allUnread) {
		return false
	}
	c.all.waiting.add(c.who, weight)
	c.counted += weight
	return true
}

// done takes back what was counted of a line.
func (c *conn) done(weight int64) {
	c.queued.Add(-weight)
	if c.all == nil || weight == 0 {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.uncount(weight)
}

func (c *conn) uncount(weight int64) {
	if weight = min(weight, c.counted); weight == 0 {
		return
	}
	c.counted -= weight
	c.all.waiting.add(c.who, -weight)
}

// gone takes back what was counted of lines that will not be written.
func (c *conn) gone() {
	if c.all == nil {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.over = true
	c.uncount(c.counted)
}

// write sends what is queued, and signs of life, until the link ends, which it does
// where the neighbour takes nothing for four beats.
func (c *conn) write(out io.Writer, flush func(), beat time.Duration) {
	defer c.gone()
	defer c.end()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	stuck := time.AfterFunc(4*beat, c.end)
	defer stuck.Stop()
	for {
		f := &frame{}
		stuck.Stop()
		select {
		case <-c.ctx.Done():
			return
		case f = <-c.out:
		case <-tick.C:
			stands := c.stands.Load()
			if time.Now().UnixMilli()-c.seen.Load() > (4*beat).Milliseconds() || stands != nil && !(*stands)() {
				return
			}
		}
		stuck.Reset(4 * beat)
		if c.encode(enc, f) != nil {
			return
		}
		if len(c.out) == 0 {
			flush()
		}
	}
}
