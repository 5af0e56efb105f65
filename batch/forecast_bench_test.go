package batch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// busyState is a full cluster with a long queue: running jobs of one core on
// every core but a few, waiting jobs of mixed widths. With needs, jobs ask for
// memory, so that they must be placed on nodes.
func busyState(runningJobs, waitingJobs, cores int, needs bool) batch.State {
	rng := rand.New(rand.NewPCG(1, 2))
	s := batch.State{Now: time.Unix(1_700_000_000, 0), Cluster: "big"}
	const each = 50
	for i := range cores / each {
		s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprintf("n%03d", i), CPUs: each, Memory: each * 4096, Up: true})
	}
	for i := range runningJobs + waitingJobs {
		j := batch.Job{
			ID: fmt.Sprint(i), User: fmt.Sprint("u", rng.IntN(200)), Procs: 1,
			Requested: time.Duration(1+rng.IntN(48)) * time.Hour,
		}
		if needs {
			j.Memory = int64(1024 * (1 + rng.IntN(4)))
		}
		if i < runningJobs {
			j.Started = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested))))
			j.Submitted = j.Started.Add(-time.Hour)
			j.Placed = []batch.Placement{{Node: s.Nodes[i%len(s.Nodes)].Name, Procs: 1}}
		} else {
			j.Procs = 1 << rng.IntN(7)
			j.Submitted = s.Now.Add(-time.Duration(waitingJobs+runningJobs-i) * time.Second)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func BenchmarkForecast(b *testing.B) {
	for _, v := range []struct {
		policy, belief   string
		needs            bool
		running, waiting int
	}{
		{"fcfs", "estimate", false, 5000, 10000}, {"easy", "estimate", false, 5000, 10000}, {"easy", "history", false, 5000, 10000},
		{"conservative", "estimate", false, 5000, 10000}, {"easy", "estimate", true, 500, 1000}, {"easy", "estimate", true, 5000, 10000},
	} {
		b.Run(fmt.Sprintf("%s/%s/nodes=%v", v.policy, v.belief, v.needs), func(b *testing.B) {
			s := busyState(v.running, v.waiting, v.running, v.needs)
			belief, err := batch.NewBelief(v.belief)
			if err != nil {
				b.Fatal(err)
			}
			f := batch.Forecaster{Policy: batch.Policy{Name: v.policy}, Belief: belief}
			for i := range 500 {
				f.Learn(s.Jobs[i], s.Jobs[i].Requested/time.Duration(1+i%5))
			}
			before := testbed.Processor(b).Seconds()
			for b.Loop() {
				out, err := f.Forecast(s)
				if err != nil {
					b.Fatal(err)
				}
				if len(out.Jobs) != v.waiting {
					b.Fatalf("%d of %d jobs foretold", len(out.Jobs), v.waiting)
				}
			}
			b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
