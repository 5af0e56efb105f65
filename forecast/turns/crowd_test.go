package turns

import (
	"fmt"
	"net"
	"net/http"
	"testing"
)

// place is a connection from somewhere that tells whether it was closed.
type place struct {
	net.Conn
	from   string
	closed bool
}

func (p *place) RemoteAddr() net.Addr {
	at, err := net.ResolveTCPAddr("tcp", p.from)
	if err != nil {
		panic(err)
	}
	return at
}

func (p *place) Close() error { p.closed = true; return nil }

// TestCrowd: who comes to a full server is let in at the expense of the network with most
// connections, of those that ask nothing first; a network with most pays for itself; what has
// ended is not counted, and nothing is kept of it.
func TestCrowd(t *testing.T) {
	c := &Crowd{Most: 8}
	port := 0
	come := func(host string, then ...http.ConnState) *place {
		port++
		p := &place{from: fmt.Sprintf("%s:%d", host, port)}
		for _, s := range append([]http.ConnState{http.StateNew}, then...) {
			c.State(p, s)
		}
		return p
	}
	busy, idle := http.StateActive, http.StateIdle
	first := come("192.0.2.1", busy, idle)
	flood := []*place{come("198.51.100.1", busy), come("198.51.100.1"), come("198.51.100.2"), come("198.51.100.3", busy), come("198.51.100.3", busy)}
	other := come("203.0.113.7", busy)
	last := come("[2001:db8::1]")
	for i, want := range []*place{flood[1], flood[2]} {
		if p := come("192.0.2.1", busy); !want.closed || p.closed {
			t.Errorf("the %d. that comes to a full house: %v, let in: %v", i+1, want.closed, !p.closed)
		}
	}
	if p := come("198.51.100.9"); !p.closed && !first.closed { // now two networks have three each
		t.Error("one of the flood more is let in, and nobody went")
	}
	if p := come("203.0.113.8", busy); p.closed {
		t.Error("a network with fewer finds no room")
	}
	if other.closed || last.closed {
		t.Error("who has few connections lost one")
	}
	all := 0
	for _, list := range c.of {
		all += len(list)
	}
	if all != c.Most || c.all != c.Most {
		t.Errorf("%d connections, counted as %d", all, c.all)
	}
	for _, list := range c.of {
		for conn := range list {
			c.State(conn, http.StateClosed)
			c.State(conn, http.StateClosed)
		}
	}
	if c.all != 0 || len(c.of) != 0 || len(c.from) != 0 {
		t.Errorf("%d connections, of %d networks and %d addresses, are kept", c.all, len(c.of), len(c.from))
	}
}

// TestCrowdOfOneAddress: who comes from an address that has as many connections as it may is let in at the expense of one of
// these that asks nothing, or not at all; others of its network are.
func TestCrowdOfOneAddress(t *testing.T) {
	c := &Crowd{Most: 8, Each: 2}
	come := func(from string, then ...http.ConnState) *place {
		p := &place{from: from}
		for _, s := range append([]http.ConnState{http.StateNew}, then...) {
			c.State(p, s)
		}
		return p
	}
	busy, idle := http.StateActive, http.StateIdle
	asks, rests := come("192.0.2.1:1", busy), come("192.0.2.1:2", busy, idle)
	neighbour := come("192.0.2.2:1", busy, idle)
	if third := come("192.0.2.1:3", busy); !rests.closed || third.closed {
		t.Errorf("one that rests went: %v, the comer: %v", rests.closed, third.closed)
	}
	if fourth := come("192.0.2.1:4", busy); !fourth.closed {
		t.Error("where all ask the comer is let in")
	}
	if second := come("192.0.2.2:2", busy); second.closed || neighbour.closed || asks.closed {
		t.Errorf("a neighbour's second went: %v, the first: %v, one that asks: %v", second.closed, neighbour.closed, asks.closed)
	}
}
