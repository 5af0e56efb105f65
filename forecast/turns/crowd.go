package turns

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Crowd bounds the connections of a server over HTTP, so that neither those who connect and
// say nothing, nor those who read slowly, keep others out: where there are too many, one of
// the network with most of them is closed. Its State is the server's ConnState.
type Crowd struct {
	Most int // connections at once

	mu   sync.Mutex
	of   map[string]map[net.Conn]*guest // by network
	all  int
	last int64
}

// guest is a connection: since when it is busy, or is not.
type guest struct {
	since int64 // the count of all changes until then
	busy  bool
}

// State takes note of what becomes of a connection.
func (c *Crowd) State(conn net.Conn, s http.ConnState) {
	if gone := c.note(conn, s); gone != nil {
		if secured, ok := gone.(*tls.Conn); ok {
			gone = secured.NetConn() // without the farewell of TLS, which may have to wait
		}
		gone.Close()
	}
}

// note is State but for closing the connection that has to go.
func (c *Crowd) note(conn net.Conn, s http.ConnState) (gone net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	home := Network(Address(conn.RemoteAddr().String()))
	c.last++
	switch s {
	case http.StateNew:
		c.enter(home, conn)
		if c.all > c.Most {
			from, gone := c.giver(home, conn)
			c.leave(from, gone)
			return gone
		}
	case http.StateActive, http.StateIdle:
		if g := c.of[home][conn]; g != nil {
			g.since, g.busy = c.last, s == http.StateActive
		}
	default:
		c.leave(home, conn)
	}
	return nil
}

func (c *Crowd) enter(home string, conn net.Conn) {
	if c.of == nil {
		c.of = map[string]map[net.Conn]*guest{}
	}
	if c.of[home] == nil {
		c.of[home] = map[net.Conn]*guest{}
	}
	c.of[home][conn] = &guest{since: c.last}
	c.all++
}

func (c *Crowd) leave(home string, conn net.Conn) {
	if c.of[home][conn] == nil {
		return
	}
	c.all--
	if delete(c.of[home], conn); len(c.of[home]) == 0 {
		delete(c.of, home)
	}
}

// giver chooses who goes for one who comes: of the networks with most connections the one that
// has not been asking for longest; where all ask, the one that has for longest, if the comer's
// network has fewer by two, and else the comer.
func (c *Crowd) giver(home string, comer net.Conn) (network string, gone net.Conn) {
	most := 0
	for _, list := range c.of {
		most = max(most, len(list))
	}
	if network, gone = c.oldest(most, false, comer); gone == nil && most >= len(c.of[home])+2 {
		network, gone = c.oldest(most, true, comer)
	}
	if gone == nil {
		return home, comer
	}
	return network, gone
}

// oldest is, in networks with so many connections, the one of those that are busy, or are not,
// that has been so for longest.
func (c *Crowd) oldest(most int, busy bool, but net.Conn) (network string, first net.Conn) {
	since := c.last
	for name, list := range c.of {
		if len(list) < most {
			continue
		}
		for conn, g := range list {
			if g.busy == busy && conn != but && g.since < since {
				network, first, since = name, conn, g.since
			}
		}
	}
	return network, first
}
