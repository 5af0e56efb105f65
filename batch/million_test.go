package batch_test

import (
	"iter"
	"testing"

	"gridbroker/batch"
	"gridbroker/batch/batchtest"
	"gridbroker/batch/swf"
	"gridbroker/testdata/testbed"
)

// generated is a workload of the Lublin model that offers a machine of procs
// processors the given part of its capacity.
func generated(n, procs int, offered float64) iter.Seq2[batch.Task, error] {
	probe := &swf.Lublin{Procs: procs, Seed: 1}
	area, last := 0.0, int64(0)
	for range 20000 {
		j := probe.Next()
		area, last = area+float64(j.Run)*float64(j.Procs), j.Submit
	}
	load := offered * float64(procs) * float64(last) / area
	return func(yield func(batch.Task, error) bool) {
		l := &swf.Lublin{Procs: procs, Seed: 2, Load: load}
		for range n {
			j := l.Next()
			if !yield(batchtest.Task(j), nil) {
				return
			}
		}
	}
}

// BenchmarkMillion replays 1,000,000 generated jobs on 10,000 processors.
func BenchmarkMillion(b *testing.B) {
	for _, policy := range []string{"easy", "conservative"} {
		b.Run(policy, func(b *testing.B) {
			before := testbed.Processor(b).Seconds()
			for b.Loop() {
				m, err := batch.NewMachine(10000, batch.Policy{Name: policy})
				if err != nil {
					b.Fatal(err)
				}
				most, sum := 0, batch.NewSummary(10000)
				for s, err := range m.Replay(generated(1_000_000, 10000, 0.8)) {
					if err != nil {
						b.Fatal(err)
					}
					sum.Add(s)
					most = max(most, m.Waiting())
				}
				b.ReportMetric(float64(most), "most-waiting")
				b.ReportMetric(sum.Utilisation(), "utilisation")
				b.ReportMetric(sum.Total().MeanWait, "mean-wait-s")
			}
			b.ReportMetric((testbed.Processor(b).Seconds()-before)/float64(b.N), "cpu-s/op")
		})
	}
}
