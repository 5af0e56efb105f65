package cli

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// handshakeBytes is how much whoever connects to a daemon may send until TLS is agreed on: his certificates are in memory until
// they have come whole. A proxy with many attributes of a VO has some ten thousand bytes.
const handshakeBytes = 48 << 10

var errHandshake = errors.New("TLS is not agreed on within 48 KiB")

// brief is a listener whose connections have handshakes of so many bytes at most, by a configuration of briefly.
type brief struct{ net.Listener }

// Accept implements net.Listener.
func (l brief) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &briefConn{Conn: c}, nil
}

// briefConn is a connection of which little is read until it is agreed.
type briefConn struct {
	net.Conn
	got    int
	agreed atomic.Bool
}

// Read implements net.Conn.
func (c *briefConn) Read(p []byte) (int, error) {
	if c.agreed.Load() {
		return c.Conn.Read(p)
	}
	left := handshakeBytes - c.got
	if left <= 0 {
		return 0, errHandshake
	}
	n, err := c.Conn.Read(p[:min(len(p), left)])
	c.got += n
	return n, err
}

// briefly has a configuration tell the connections of brief when they are agreed.
func briefly(config *tls.Config) *tls.Config {
	outer := config.Clone()
	outer.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		inner := config
		if config.GetConfigForClient != nil {
			is, err := config.GetConfigForClient(hello)
			if err != nil {
				return nil, err
			}
			if is != nil {
				inner = is
			}
		}
		inner = inner.Clone()
		if len(inner.NextProtos) == 0 { // a server adds them to the outer one alone
			inner.NextProtos = []string{"h2", "http/1.1"}
		}
		verify := inner.VerifyConnection
		inner.VerifyConnection = func(state tls.ConnectionState) error {
			if c, ok := hello.Conn.(*briefConn); ok {
				c.agreed.Store(true)
			}
			if verify == nil {
				return nil
			}
			return verify(state)
		}
		return inner, nil
	}
	return outer
}
