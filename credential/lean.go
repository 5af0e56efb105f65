package credential

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// What may come below TLS for what comes of it: so many bytes, and so many for each byte. The least that a record of one
// byte takes is 22.
const (
	leanBytes = 1 << 20
	leanTimes = 16
)

var errLean = errors.New("the server sends records of TLS that bring next to nothing")

// lean is a connection below TLS. Records that bring nothing, or a byte, are in no budget of an answer, and each takes a
// processor's time: changes of the key most. What they bring is counted by whoever sees it: Conn, or where http.Transport
// agrees on TLS itself, behind a proxy too, the answers of Wary.
type lean struct {
	net.Conn
	came, brought atomic.Int64 // bytes, below TLS and of it
}

// leanDial has connections counted; connect may be nil, as of http.Transport.
func leanDial(connect dialFunc) dialFunc {
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &lean{Conn: c}, nil
	}
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// leanBelow is what counts below a connection; nil: nothing does, or whoever made it sees to that.
func leanBelow(c net.Conn) *lean {
	for {
		if l, ok := c.(*lean); ok {
			return l
		}
		above, ok := c.(*tls.Conn)
		if !ok {
			return nil
		}
		c = above.NetConn()
	}
}

// again lets so many bytes come for nothing as at the beginning: headers are not seen by who counts answers.
func (l *lean) again() { l.brought.Store(l.came.Load()/leanTimes + 1) }

// Read implements net.Conn.
func (l *lean) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.came.Add(int64(n)) > leanBytes+leanTimes*l.brought.Load() {
		return 0, errLean
	}
	return n, err
}
