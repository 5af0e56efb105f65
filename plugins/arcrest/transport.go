package arcrest

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"gridbroker/credential"
)

// dialAttempts bounds the repetition of spoilt handshakes: A-REX now and then
// sends the closing alert of another connection into a new one.
const dialAttempts = 4

// idleTime is for how long a connection is kept that nobody uses: A-REX closes it after a minute, and a request that leaves
// just then may or may not have arrived. Who follows jobs comes again before, mostly, and another handshake costs more of
// a processor than a look at a hundred jobs that go on.
const idleTime = 50 * time.Second

// newTransport keeps connections, follows no proxy, and speaks HTTP/1.1, which
// is all that A-REX knows.
func newTransport(o Options, who *identity) *credential.Transport {
	d := who.dialer()
	d.Timeout, d.Attempts, d.Curve = min(o.Timeout, 10*time.Second), dialAttempts, tls.CurveP521
	d.Wrap = func(raw net.Conn) net.Conn { return &conn{Conn: raw, stall: o.Timeout} }
	if o.StateDir != "" {
		d.Contacts = &credential.Contacts{Dir: filepath.Join(o.StateDir, "arc-hosts"), Now: o.Now}
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialTLS(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return c, nil
	}
	return credential.Wary(&http.Transport{
		DialTLSContext:        dial,
		MaxConnsPerHost:       o.Connections,
		MaxIdleConnsPerHost:   o.Connections,
		IdleConnTimeout:       idleTime,
		ResponseHeaderTimeout: o.Timeout,
	})
}

// Warm makes the tables of the curve that A-REX agrees to, which takes 9 ms of
// a processor and else delays the first connection. It may run beside what
// comes before that.
func Warm() {
	_, _ = ecdh.P521().GenerateKey(rand.Reader) // only the tables matter
}

// dialError marks a failure before any request was sent.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// conn re-arms quick acknowledgements, and fails when nothing moves for the
// stall time.
type conn struct {
	net.Conn
	stall time.Duration
}

func (c *conn) Read(p []byte) (int, error) {
	quickAck(c.Conn)
	_ = c.SetReadDeadline(time.Now().Add(c.stall)) // a closed connection fails the read itself
	return c.Conn.Read(p)
}

// Write also puts off when an answer is due: it is waited for from the beginning of a
// request on, and a large file may take longer than the stall time.
func (c *conn) Write(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.stall)) // as above
	return c.Conn.Write(p)
}
