package credential

import (
	"fmt"
	"net"
	"net/netip"
)

// NotPublicError is that a service was named at an address that only this
// machine or its neighbours can reach.
type NotPublicError struct{ Address string }

func (e *NotPublicError) Error() string {
	return fmt.Sprintf("%s is no public address, and the user did not name the host", e.Address)
}

// carrierNAT is shared address space (RFC 6598).
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

// ThisMachine tells whether what is sent to a host, a name or an address without a port, stays on this machine.
func ThisMachine(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// PublicAddress refuses loopback, private (RFC 1918, RFC 4193), link-local, shared,
// multicast and unspecified addresses.
func PublicAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	a := ap.Addr().Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrierNAT.Contains(a) {
		return &NotPublicError{address}
	}
	return nil
}
