package infosys

import (
	"net"
	"syscall"
	"time"
)

// gatherer reads from a server that writes one entry at a time. To be woken for
// each of them costs more than to decode it, so once many came one by one, it
// lets what comes gather for a moment before it reads on.
type gatherer struct {
	conn  net.Conn
	small int // reads that brought little, or as many as make it wait
}

// What little is, how many such reads are borne, and the moment: too short to
// be noticed by anybody, or for the system's buffer to fill.
const (
	littleRead  = 16 << 10
	littleReads = 64
	gatherTime  = 4 * time.Millisecond
	gatherBytes = 1 << 20 // more than come in the time: nothing wakes
)

// Read implements io.Reader.
func (g *gatherer) Read(b []byte) (int, error) {
	if g.small == littleReads {
		g.wakeFor(gatherBytes)
		time.Sleep(gatherTime)
		g.wakeFor(1)
	}
	n, err := g.conn.Read(b)
	if n < littleRead && g.small < littleReads {
		g.small++
	}
	return n, err
}

// wakeFor asks the system to report the connection as readable once so many
// bytes are there. Where it cannot be asked, more is woken for than need be.
func (g *gatherer) wakeFor(n int) {
	conn := g.conn
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n) })
	}
}
