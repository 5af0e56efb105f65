package credential

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// Of a host that has several addresses the next one is tried as well when one has not agreed on TLS after nextAddress,
// or has failed: of at most mostAddresses.
const (
	nextAddress   = 500 * time.Millisecond
	mostAddresses = 8
)

// places are the addresses, with the port, behind which a host is.
func (d *Dialer) places(ctx context.Context, network, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return []string{addr}, nil
	}
	lookup := d.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	found, err := lookup(ctx, host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var list []string
	for _, ip := range alternate(found) {
		list = append(list, net.JoinHostPort(ip.Unmap().String(), port))
	}
	return list[:min(len(list), mostAddresses)], nil
}

// alternate puts addresses of the two families in turns, in their order, so that a network that carries one of them
// badly costs one try.
func alternate(found []netip.Addr) []netip.Addr {
	var first, second, list []netip.Addr
	for _, ip := range found {
		if ip.Unmap().Is4() == found[0].Unmap().Is4() {
			first = append(first, ip)
		} else {
			second = append(second, ip)
		}
	}
	for i := range max(len(first), len(second)) {
		list = append(append(list, first[min(i, len(first)):min(i+1, len(first))]...), second[min(i, len(second)):min(i+1, len(second))]...)
	}
	return list
}

// first tries some places, and is the connection to the one that lets us in first. Where none does, what one said of certificates tells more than
// that another is not there.
func first(ctx context.Context, places []string, try func(ctx context.Context, place string) (*Conn, error)) (*Conn, error) {
	if len(places) == 1 {
		return try(ctx, places[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		c   *Conn
		err error
	}
	came := make(chan outcome, len(places))
	under := 0
	defer func() { // who comes later is not needed
		go func(n int) {
			for range n {
				if o := <-came; o.c != nil {
					_ = o.c.Close()
				}
			}
		}(under)
	}()
	var why error
	next := time.NewTimer(0)
	defer next.Stop()
	for len(places) > 0 || under > 0 {
		select {
		case <-next.C:
			if len(places) == 0 {
				continue
			}
			place := places[0]
			places, under = places[1:], under+1
			go func() {
				c, err := try(ctx, place)
				came <- outcome{c, err}
			}()
			next.Reset(nextAddress)
		case o := <-came:
			under--
			if o.err == nil {
				return o.c, nil
			}
			if why == nil || nobody(why) && !nobody(o.err) {
				why = o.err
			}
			next.Reset(0)
		}
	}
	return nil, why
}

// nobody tells whether nobody was there to speak with.
func nobody(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || errors.Is(err, context.DeadlineExceeded)
}
