package cli

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// BenchmarkLiveView draws 10,000 jobs, a fifth of which has changed since the
// picture before. But for the first half a minute one is drawn in five seconds:
// 150 ms of processor time for one are 3 % of a core.
func BenchmarkLiveView(b *testing.B) {
	now := time.Now()
	d := &deps{env: Env{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }, Out: io.Discard, Terminal: true, Width: 120}}
	rs := make([]*jobs.Record, 10000)
	for i := range rs {
		rs[i] = &jobs.Record{ID: fmt.Sprintf("1m80f0ftgax%05d", i), Name: fmt.Sprintf("scan-%d", i), Parent: fmt.Sprintf("1m80fsweep%05d", i/1000),
			At: "ce.example.org/long", Sent: now, Predicted: 5400, Created: now, Started: now}
	}
	os := jobs.Outcomes(rs)
	show := liveTable(d)
	used := func() int64 { // ns of processor time
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	turn, began := 0, used()
	defer func() { b.ReportMetric(float64(used()-began)/1e6/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		for i, o := range os {
			o.State = []plugins.State{plugins.Running, plugins.Queued, plugins.Done}[(i+turn*(1-min(1, i%5)))%3]
		}
		turn++
		show(os)
	}
}
