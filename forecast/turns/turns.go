// Package turns bounds how much is done at once for each of those who ask, so
// that one who asks without end keeps nobody else from an answer.
package turns

import (
	"context"
	"net/netip"
	"sync"
)

// Turns are given to askers by name. Its zero value is ready; it keeps nothing
// of askers who have no turn and wait for none.
type Turns struct {
	mu sync.Mutex
	of map[string]*asker
}

type asker struct {
	places chan struct{}
	users  int // turns and waits
}

// Take waits for one of the turns of an asker, of which there are atOnce; the
// first of those who are there says how many. What it returns ends the turn;
// nil where the context has ended before.
func (t *Turns) Take(ctx context.Context, name string, atOnce int) (end func()) {
	if ctx.Err() != nil {
		return nil
	}
	own := t.join(name, atOnce)
	select {
	case own.places <- struct{}{}:
		return t.ender(name, own)
	case <-ctx.Done():
		t.leave(name, own)
		return nil
	}
}

// Try is Take for who does not wait: nil where all the asker's turns are taken.
func (t *Turns) Try(name string, atOnce int) (end func()) {
	own := t.join(name, atOnce)
	select {
	case own.places <- struct{}{}:
		return t.ender(name, own)
	default:
		t.leave(name, own)
		return nil
	}
}

// ender ends a turn that was taken.
func (t *Turns) ender(name string, own *asker) func() {
	return sync.OnceFunc(func() { <-own.places; t.leave(name, own) })
}

func (t *Turns) join(name string, atOnce int) *asker {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*asker{}
	}
	own := t.of[name]
	if own == nil {
		own = &asker{places: make(chan struct{}, atOnce)}
		t.of[name] = own
	}
	own.users++
	return own
}

func (t *Turns) leave(name string, own *asker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, name)
	}
}

// Address names who asks from a remote address "host:port": by the host, of IPv6
// by the network of 64 bits that one machine has. What is no such address is "".
func Address(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64)
		addr = network.Addr()
	}
	return addr.String()
}

// Network is the network of an address that Address has named, as large as those
// that one owner often has: of IPv4 24 bits, of IPv6 48. What is no address is its own.
func Network(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	network, _ := addr.Prefix(bits)
	return network.String()
}
