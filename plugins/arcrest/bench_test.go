package arcrest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// The benchmarks run against the first CE of each version. Every round starts
// without connections, as a command does.

func eachVersion(b *testing.B, run func(b *testing.B, bed *testbed.ARC, url string)) {
	bed := testbed.NeedARC(b)
	b.Run("6.17", func(b *testing.B) { run(b, bed, bed.REST10[0]) })
	if len(bed.REST11) > 0 {
		b.Run("7.0", func(b *testing.B) { run(b, bed, bed.REST11[0]) })
	}
}

// hundred are jobs of a moment, with an input file or without.
func hundred(b *testing.B, url, input string) []plugins.Request {
	var reqs []plugins.Request
	for i := range 100 {
		r := shell(fmt.Sprintf("b%d-%d", time.Now().UnixNano(), i), "exit 0")
		if input != "" {
			r.Job.InputSandbox = []jdl.InputFile{{Source: input, Name: "input.dat"}}
		}
		reqs = append(reqs, r)
	}
	return at(url, reqs...)
}

func BenchmarkSubmit(b *testing.B) {
	eachVersion(b, func(b *testing.B, bed *testbed.ARC, url string) {
		for _, size := range []int{0, 10_000} {
			b.Run(fmt.Sprintf("100jobs/%dB", size), func(b *testing.B) { benchSubmit(b, bed, url, size) })
		}
	})
}

func benchSubmit(b *testing.B, bed *testbed.ARC, url string, size int) {
	input := ""
	if size > 0 {
		input = filepath.Join(b.TempDir(), "input.dat")
		write(b, input, bytes.Repeat([]byte("x"), size))
	}
	back := as(b, bed, "alice")
	for b.Loop() {
		back.Close()
		hs := submit(b, back, hundred(b, url, input))
		b.StopTimer()
		back.Close()
		start := time.Now()
		for _, st := range back.Status(b.Context(), hs) {
			if st.Err != nil {
				b.Fatal(st.Err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "status-ms")
		back.Close()
		start = time.Now()
		for _, err := range back.Cancel(b.Context(), hs) {
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "cancel-ms")
		back.Clean(b.Context(), hs)
		b.StartTimer()
	}
}
