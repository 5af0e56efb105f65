package credential

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// handshakeTime bounds one TLS handshake.
const handshakeTime = 10 * time.Second

// Conn is a TLS connection whose failing writes give the server's reason. A server whose records bring
// next to nothing is read no further.
type Conn struct {
	*tls.Conn
	below *lean
}

// Secure agrees on TLS as a client, over a connection that it closes where that fails.
func Secure(ctx context.Context, below net.Conn, cfg *tls.Config) (*Conn, error) {
	counted := &lean{Conn: below}
	c := tls.Client(counted, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = below.Close() // the handshake's error says it all
		return nil, inTheClear(err)
	}
	return &Conn{c, counted}, nil
}

// inTheClear says of a handshake that what has answered speaks no TLS.
func inTheClear(err error) error {
	e, ok := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case !ok:
		return err
	case string(e.RecordHeader[:]) == "HTTP/":
		return fmt.Errorf("no TLS is spoken there, but HTTP in the clear (%w)", err)
	}
	return fmt.Errorf("no TLS is spoken there (%w)", err)
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.below.brought.Add(int64(n))
	return n, err
}

// NetConn is the connection below TLS.
func (c *Conn) NetConn() net.Conn { return c.below.Conn }

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	closed := errors.Is(err, net.ErrClosed) // by a reader that has heard the reason, which is told again
	if !closed && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	// What the server sent before it closed the connection can still be read.
	if derr := c.SetReadDeadline(time.Now().Add(time.Second)); derr != nil && !closed {
		return n, err
	}
	if _, rerr := c.Read(make([]byte, 1)); rerr != nil {
		if _, ok := RemoteAlert(rerr); ok {
			return n, rerr
		}
	}
	return n, err
}
