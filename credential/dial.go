package credential

import (
	"crypto/tls"
	"errors"
	"syscall"
	"time"
)

// handshakeTime bounds one TLS handshake.
const handshakeTime = 10 * time.Second

// refusable is a connection whose failing writes give the server's reason.
type refusable struct{ *tls.Conn }

// Write implements net.Conn.
func (c *refusable) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	// What the server sent before it closed the connection can still be read.
	if derr := c.SetReadDeadline(time.Now().Add(time.Second)); derr != nil {
		return n, err
	}
	if _, rerr := c.Read(make([]byte, 1)); rerr != nil {
		if _, ok := RemoteAlert(rerr); ok {
			return n, rerr
		}
	}
	return n, err
}
