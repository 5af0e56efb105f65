package testbed

import (
	"context"
	"net"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Within runs do and fails when it takes more memory, in bytes above what there was, than
// allowed, or computes longer: than limit on a machine of the year 2020 that has nothing
// else to do, and than as much more elsewhere as a yardstick takes before and after it.
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
	most := Paced(t, limit)
	start := Processor(t)
	do()
	took := Processor(t) - start
	most = max(most, Paced(t, limit))
	stop()
	<-watched
	used := max(peak.Load(), before.HeapInuse) - before.HeapInuse
	if used > memory {
		t.Errorf("%d MB more than before", used>>20)
	}
	if took > most {
		t.Errorf("took %v, and not %v", took, most)
	}
	t.Logf("%v, %d MB", took.Round(time.Millisecond), used>>20)
}

// Paced is how long what takes limit at most on an idle machine of the year 2020 may compute
// for in this process, here and now.
func Paced(t testing.TB, limit time.Duration) time.Duration {
	t.Helper()
	return slower * PacedBeside(t, limit)
}

// PacedBeside is the same for another program, which no race detector watches.
func PacedBeside(t testing.TB, limit time.Duration) time.Duration {
	t.Helper()
	return time.Duration(slowness(t) * float64(limit))
}

// slowness is how many times longer than usual a yardstick computes here and now: another
// program on the same core, or a slower one, is no fault of what is measured. At least 1.
func slowness(t testing.TB) float64 {
	t.Helper()
	start := Processor(t)
	words := make(map[string][]byte)
	for i := range 60_000 {
		word := strconv.Itoa(i * 7919)
		words[word[:min(len(word), 4)]] = append([]byte(word), words[word]...)
	}
	runtime.KeepAlive(words)
	return max(1, float64(Processor(t)-start)/float64(usual))
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
