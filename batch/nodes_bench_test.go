package batch_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// bigState is a cluster of 1,000 nodes of four kinds, some with GPUs and
// features, in two partitions; 5,000 jobs run and fill it, 10,000 wait.
func bigState(running, waiting, nodes int) batch.State {
	rng := rand.New(rand.NewPCG(3, 4))
	s := batch.State{Now: time.Unix(1_700_000_000, 0).UTC(), Cluster: "big", Queues: []batch.Queue{{Name: "cpu"}, {Name: "gpu", Priority: 0}}}
	each := running / nodes
	for i := range nodes {
		n := batch.Node{Name: fmt.Sprintf("n%04d", i), CPUs: each, Memory: int64(each) * 4096, Up: true, Queues: []string{"cpu"}}
		if i%4 == 1 {
			n.Features = []string{"fast"}
		}
		if i%10 == 0 {
			n.GPUs, n.Queues = 4, []string{"gpu"}
		}
		s.Nodes = append(s.Nodes, n)
	}
	for i := range running + waiting {
		j := batch.Job{
			ID: fmt.Sprint(i), User: fmt.Sprint("u", rng.IntN(200)), Procs: 1, Memory: int64(1024 * (1 + rng.IntN(4))), Queue: "cpu",
			Requested: time.Duration(1+rng.IntN(48*60)) * time.Minute,
		}
		if i < running {
			n := s.Nodes[i%nodes]
			j.Queue = n.Queues[0]
			j.Started = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested/time.Second))) * time.Second)
			j.Submitted, j.Placed = j.Started.Add(-time.Hour), []batch.Placement{{Node: n.Name, Procs: 1}}
		} else {
			j.Submitted = s.Now.Add(-time.Duration(waiting+running-i) * time.Second)
			j.Procs = 1 << rng.IntN(7)
			switch rng.IntN(20) {
			case 0:
				j.Queue, j.GPUs, j.Nodes, j.Procs = "gpu", 1+rng.IntN(4), 1, 1+rng.IntN(4)
			case 1:
				j.Features = []string{"fast"}
			case 2:
				j.Nodes = 1 + rng.IntN(16)
				j.Procs = j.Nodes * each
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// BenchmarkNodes forecasts a queue of 10,000 on 1,000 nodes, and lets one event
// happen and asks for the next 100 starts, or the slots of six hours; early: of jobs
// that end before their limits.
func BenchmarkNodes(b *testing.B) {
	for _, v := range []struct {
		name   string
		policy batch.Policy
	}{
		{"easy", batch.Policy{Name: "easy"}}, {"slurm", batch.Policy{Name: "slurm"}}, {"conservative", batch.Policy{Name: "conservative"}},
		{"unlimited", batch.Policy{Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}}},
	} {
		b.Run(v.name+"/forecast", func(b *testing.B) { benchmarkNodes(b, v.policy, batch.Estimate{}) })
		b.Run(v.name+"/event", func(b *testing.B) { benchmarkNodeEvents(b, v.policy, func(l *batch.Live) { l.Starts(100) }) })
		b.Run(v.name+"/slots", func(b *testing.B) {
			benchmarkNodeEvents(b, v.policy, func(l *batch.Live) { l.Near(6 * time.Hour).Slots(6 * time.Hour) })
		})
	}
	b.Run("slurm/preempt", func(b *testing.B) {
		s, p := bigState(benchRunning, benchWaiting, benchNodes), batch.Slurm{}
		giveWay(&s, &p)
		benchmarkForecast(b, batch.Policy{Name: "slurm", Slurm: p}, batch.Estimate{}, s)
	})
	b.Run("slurm/preempt/slots", func(b *testing.B) {
		s, p := bigState(benchRunning, benchWaiting, benchNodes), batch.Slurm{}
		giveWay(&s, &p)
		benchmarkStateEvents(b, batch.Policy{Name: "slurm", Slurm: p}, s, func(l *batch.Live) { l.Near(6 * time.Hour).Slots(6 * time.Hour) })
	})
	b.Run("slurm/limits", func(b *testing.B) {
		s := bigState(benchRunning, benchWaiting, benchNodes)
		ofUsers(&s, func(runs int) int { return runs + 5 })
		benchmarkForecast(b, batch.Policy{Name: "slurm"}, batch.Estimate{}, s)
	})
	b.Run("slurm/limits/slots", func(b *testing.B) {
		s := bigState(benchRunning, benchWaiting, benchNodes)
		ofUsers(&s, func(runs int) int { return runs + 5 })
		benchmarkStateEvents(b, batch.Policy{Name: "slurm"}, s, func(l *batch.Live) { l.Near(6 * time.Hour).Slots(6 * time.Hour) })
	})
	b.Run("slurm/scarce", func(b *testing.B) {
		s := bigState(benchRunning, benchWaiting, benchNodes)
		ofUsers(&s, func(int) int { return 2 })
		benchmarkForecast(b, batch.Policy{Name: "slurm"}, batch.Estimate{}, s)
	})
	b.Run("slurm/scarce/slots", func(b *testing.B) {
		s := bigState(benchRunning, benchWaiting, benchNodes)
		ofUsers(&s, func(int) int { return 2 })
		benchmarkStateEvents(b, batch.Policy{Name: "slurm"}, s, func(l *batch.Live) { l.Near(6 * time.Hour).Slots(6 * time.Hour) })
	})
	b.Run("slurm/early", func(b *testing.B) { benchmarkNodes(b, batch.Policy{Name: "slurm"}, partly{}) })
	b.Run("conservative/early", func(b *testing.B) {
		benchmarkForecast(b, batch.Policy{Name: "conservative"}, partly{}, bigState(benchRunning/5, benchWaiting/5, benchNodes/5))
	})
}

// ofUsers limits how many jobs each user may run at once, by how many he does.
func ofUsers(s *batch.State, most func(runs int) int) {
	runs := map[string]int{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Takes = []batch.Take{{Cap: j.User, Amount: 1}}; !j.Started.IsZero() {
			runs[j.User]++
		}
	}
	for user, n := range runs {
		s.Caps = append(s.Caps, batch.Cap{Name: user, Most: most(n)})
	}
	slices.SortFunc(s.Caps, func(a, b batch.Cap) int { return strings.Compare(a.Name, b.Name) })
}

func benchmarkNodes(b *testing.B, p batch.Policy, belief batch.Belief) {
	benchmarkForecast(b, p, belief, bigState(benchRunning, benchWaiting, benchNodes))
}

func benchmarkForecast(b *testing.B, p batch.Policy, belief batch.Belief, s batch.State) {
	f := batch.Forecaster{Policy: p, Belief: belief}
	before := testbed.Processor(b).Seconds()
	var out *batch.Forecast
	for b.Loop() {
		var err error
		if out, err = f.Forecast(s); err != nil {
			b.Fatal(err)
		}
		if len(out.Jobs)+len(out.Refused) != len(s.Jobs)-len(s.Nodes)*5 || len(out.Refused) > 0 {
			b.Fatalf("%d jobs foretold, %d refused: %+v", len(out.Jobs), len(out.Refused), out.Refused[0])
		}
	}
	b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB")
	runtime.KeepAlive(out)
}

func benchmarkNodeEvents(b *testing.B, p batch.Policy, ask func(*batch.Live)) {
	benchmarkStateEvents(b, p, bigState(benchRunning, benchWaiting, benchNodes), ask)
}

func benchmarkStateEvents(b *testing.B, p batch.Policy, s batch.State, ask func(*batch.Live)) {
	f := batch.Forecaster{Policy: p}
	live, err := f.Live(s)
	if err != nil {
		b.Fatal(err)
	}
	ask(live)
	before, i := testbed.Processor(b).Seconds(), 0
	for b.Loop() { // a job that runs ends before its time
		if err := live.End(fmt.Sprint(i%benchRunning), s.Now.Add(time.Duration(i)*time.Second)); err != nil {
			b.Fatal(err)
		}
		ask(live)
		i++
	}
	b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
}

const (
	benchNodes   = 1000
	benchRunning = 5 * benchNodes
	benchWaiting = 10 * benchNodes
)
