package credential

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// NotPublicError is that a service was named at an address that only this
// machine or its neighbours can reach.
type NotPublicError struct{ Address string }

func (e *NotPublicError) Error() string {
	return fmt.Sprintf("%s is no public address, and the user did not name the host", e.Address)
}

// Networks that netip takes for public, and that are reached, if at all, inside of the user's own network.
const notPublic = "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 " + // RFC 1122, 6598, 6890, 2544, 1112
	"::/96 64:ff9b:1::/48 100::/64 fec0::/10" // RFC 4291, 8215, 6666, 3879

// Networks of IPv6 whose addresses hold one of IPv4, to which a gateway sends on what comes, by the byte at which that
// begins: NAT64 (RFC 6052), SIIT (RFC 2765), 6to4 (RFC 3056).
var holdIPv4 = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"):    12,
	netip.MustParsePrefix("::ffff:0:0:0/96"): 12,
	netip.MustParsePrefix("2002::/16"):       2,
}

// ThisMachine tells whether what is sent to a host, a name or an address without a port, stays on this machine.
func ThisMachine(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// PublicAddress refuses loopback, private (RFC 1918, RFC 4193), link-local, shared,
// reserved, multicast and unspecified addresses, and those of IPv6 that stand for one of these.
func PublicAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !public(ap.Addr().Unmap().WithZone("")) {
		return &NotPublicError{address}
	}
	return nil
}

func public(a netip.Addr) bool {
	for n, at := range holdIPv4 {
		if bytes := a.AsSlice(); n.Contains(a) && !public(netip.AddrFrom4([4]byte(bytes[at:at+4]))) {
			return false
		}
	}
	for n := range strings.FieldsSeq(notPublic) {
		if netip.MustParsePrefix(n).Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}
