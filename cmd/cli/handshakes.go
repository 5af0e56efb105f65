package cli

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
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
	of     atomic.Pointer[seats] // where it has one
}

// Close implements net.Conn.
func (c *briefConn) Close() error {
	if s := c.of.Swap(nil); s != nil {
		s.taken.Add(-1)
	}
	return c.Conn.Close()
}

// seats are those of connections that may speak HTTP/2; others are spoken to by HTTP/1.1. Ten thousand answers to pings and
// settings wait for whoever does not read them, in a MiB, before the server has had enough of him.
type seats struct {
	most  int32
	taken atomic.Int32
}

// offered are the protocols that whoever says hello may have of these. nil: there are seats for all.
func (s *seats) offered(hello *tls.ClientHelloInfo, protocols []string) []string {
	c, ok := hello.Conn.(*briefConn)
	if s == nil || !ok || !slices.Contains(hello.SupportedProtos, "h2") {
		return protocols
	}
	if s.taken.Add(1) <= s.most && c.of.CompareAndSwap(nil, s) {
		return protocols
	}
	s.taken.Add(-1)
	return slices.DeleteFunc(slices.Clone(protocols), func(p string) bool { return p == "h2" })
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

// briefly has a configuration tell the connections of brief when they are agreed, and offer HTTP/2 to those for whom there are seats.
func briefly(config *tls.Config, two *seats) *tls.Config {
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
		inner.NextProtos = two.offered(hello, inner.NextProtos)
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
