package arcrest

import (
	"net"
	"syscall"
)

// quickAck asks the kernel to acknowledge at once what arrives next. Linux
// drops the option by itself, so it is set before every read. A-REX writes the
// head and the body of an answer separately without TCP_NODELAY; without this
// every answer waits 40 ms for the delayed acknowledgement of its head.
func quickAck(c net.Conn) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := sc.SyscallConn(); err == nil {
		// it is only an acceleration: a failure changes nothing
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
		})
	}
}
