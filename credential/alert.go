package credential

import (
	"crypto/tls"
	"errors"
	"net"
)

// RemoteAlert returns the TLS alert (RFC 8446 section 6) with which the other
// side ended a connection. Package tls gives such alerts a type of its own
// that cannot be asserted, but with the text of tls.AlertError.
func RemoteAlert(err error) (tls.AlertError, bool) {
	if code, ok := errors.AsType[tls.AlertError](err); ok {
		return code, true
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" || op.Err == nil {
		return 0, false
	}
	for code := range 256 {
		if a := tls.AlertError(code); a.Error() == op.Err.Error() {
			return a, true
		}
	}
	return 0, false
}
