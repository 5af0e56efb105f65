package testbed

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Within runs do and fails when it computes longer or takes more memory, in
// bytes above what there was, than allowed.
func Within(t testing.TB, limit time.Duration, memory uint64, do func()) {
	t.Helper()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	start := Processor(t)
	do()
	took := Processor(t) - start
	stop()
	<-watched
	used := max(peak.Load(), before.HeapInuse) - before.HeapInuse
	if used > memory {
		t.Errorf("%d MB more than before", used>>20)
	}
	if took > slower*limit {
		t.Errorf("took %v", took)
	}
	t.Logf("%v, %d MB", took.Round(time.Millisecond), used>>20)
}

// Processor is the time that this process has computed for: the machine may
// have other work, which is no fault of what is measured.
func Processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Listen gives each connection to a port of loopback to serve and closes it
// then; it returns host:port.
func Listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// FreeAddress is a port of loopback, as host:port, where nothing listens yet.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddresses(t, 1)[0]
}

// FreeAddresses are several of them, no two alike.
func FreeAddresses(t testing.TB, n int) (list []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all of them at the end, so that none is lent twice
		list = append(list, l.Addr().String())
	}
	return list
}
