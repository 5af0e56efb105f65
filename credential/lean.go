package credential

import (
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
// processor's time: changes of the key most.
type lean struct {
	net.Conn
	came, brought atomic.Int64 // bytes, below TLS and of it
}

// Read implements net.Conn.
func (l *lean) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.came.Add(int64(n)) > leanBytes+leanTimes*l.brought.Load() {
		return 0, errLean
	}
	return n, err
}
