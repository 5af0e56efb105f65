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
	Each int // of those one address; 0: as many as all

	mu   sync.Mutex
	of   map[string]map[net.Conn]*guest // by network
	from map[string]int                 // by address, how many
	all  int
	last int64
}

// guest is a connection: from which address, and since when it is busy, or is not.
type guest struct {
	from  string
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
	from := Address(conn.RemoteAddr().String())
	home := Network(from)
	c.last++
	switch s {
	case http.StateNew:
		c.enter(home, from, conn)
		switch {
		case c.all > c.Most:
			home, gone = c.giver(home, conn)
		case c.Each > 0 && c.from[from] > c.Each:
			gone = c.own(home, from, conn)
		}
		if gone != nil {
			c.leave(home, gone)
		}
	case http.StateActive, http.StateIdle:
		if g := c.of[home][conn]; g != nil {
			g.since, g.busy = c.last, s == http.StateActive
		}
	default:
		c.leave(home, conn)
	}
	return gone
}

func (c *Crowd) enter(home, from string, conn net.Conn) {
	if c.of == nil {
		c.of, c.from = map[string]map[net.Conn]*guest{}, map[string]int{}
	}
	if c.of[home] == nil {
		c.of[home] = map[net.Conn]*guest{}
	}
	c.of[home][conn] = &guest{from: from, since: c.last}
	c.from[from]++
	c.all++
}

func (c *Crowd) leave(home string, conn net.Conn) {
	g := c.of[home][conn]
	if g == nil {
		return
	}
	if c.from[g.from]--; c.from[g.from] == 0 {
		delete(c.from, g.from)
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
	fits := func(conn net.Conn, g *guest) bool { return g.busy == busy && conn != but }
	for name, list := range c.of {
		if len(list) < most {
			continue
		}
		if conn, at := eldest(list, since, fits); conn != nil {
			network, first, since = name, conn, at
		}
	}
	return network, first
}

// eldest is, of the connections that fit, the one that has been as it is for longest, and since when, if that is before a
// count.
func eldest(list map[net.Conn]*guest, before int64, fits func(net.Conn, *guest) bool) (first net.Conn, since int64) {
	since = before
	for conn, g := range list {
		if g.since < since && fits(conn, g) {
			first, since = conn, g.since
		}
	}
	return first, since
}

// own chooses who goes for one who comes from an address that has too many: the one of them that has not been asking for
// longest; where all ask, the comer.
func (c *Crowd) own(home, from string, comer net.Conn) net.Conn {
	rests := func(conn net.Conn, g *guest) bool { return g.from == from && !g.busy && conn != comer }
	if gone, _ := eldest(c.of[home], c.last, rests); gone != nil {
		return gone
	}
	return comer
}
