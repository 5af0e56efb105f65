package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Ports that testbed.sh keeps from being lent to connections.
const (
	firstPort = 20_000
	allPorts  = 3000
)

// FreeAddress is a port of loopback, as host:port, where nothing listens yet.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddresses(t, 1)[0]
}

// FreeAddresses are several of them, no two alike, of ports that testbed.sh keeps from being
// lent to connections: what is stopped and started again finds its own free. No test of
// another package is given one of them until this one ends.
func FreeAddresses(t testing.TB, n int) (list []string) {
	t.Helper()
	for tries := 0; len(list) < n; tries++ {
		if tries == allPorts {
			t.Fatalf("none of %d ports is free", allPorts)
		}
		port := firstPort + rand.IntN(allPorts)
		held := holdPort(port)
		if held == nil {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			held.Close()
			continue
		}
		t.Cleanup(func() { held.Close() })
		defer l.Close() // all of them at the end, so that none is lent twice
		list = append(list, l.Addr().String())
	}
	return list
}

// holdPort keeps a port for this process until the file is closed; nil: another one has it.
func holdPort(port int) *os.File {
	dir := filepath.Join(os.TempDir(), "gridbroker-ports")
	if os.Mkdir(dir, 0o777) == nil {
		os.Chmod(dir, 0o777|os.ModeSticky) // tests of other users have ports, too
	}
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}
