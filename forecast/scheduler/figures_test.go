package scheduler

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// The figures of docs/benchmarks.md that lie in the database: what the program
// itself calls, over PostgreSQL and over the embedded one.

func figures(b *testing.B, run func(b *testing.B, f *figure)) {
	for _, name := range []string{"postgres", "sqlite"} {
		b.Run(name, func(b *testing.B) {
			dsn := ""
			if name == "sqlite" {
				dsn = sqliteDSN(b)
			} else {
				dsn = postgresDSN(b)
			}
			run(b, newFigure(b, dsn))
		})
	}
}

// figure is a scheduler whose sites nobody asks.
type figure struct {
	b     *testing.B
	store *Store
	s     *Scheduler
	epoch int64
}

func newFigure(b *testing.B, dsn string) *figure {
	seal, err := NewSeal(NewKey())
	if err != nil {
		b.Fatal(err)
	}
	f := &figure{b: b}
	if f.store, err = OpenStore(dsn, seal); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.store.Close() })
	if _, err := f.store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	f.again()
	return f
}

// again is a process that has just begun.
func (f *figure) again() {
	f.s = New(Config{Name: "figures", Budget: 1e9, MaxJobs: 1 << 30, Clusters: map[string]ClusterConfig{}}, f.store, nil, time.Now, slog.New(slog.DiscardHandler))
	var err error
	if f.epoch, err = takeOver(f.b.Context(), f.store, "figures"); err != nil {
		f.b.Fatal(err)
	}
	f.s.setLead(f.epoch)
}

func (f *figure) cycle() Report {
	f.b.Helper()
	r, err := f.s.Cycle(f.b.Context(), f.epoch)
	if err != nil {
		f.b.Fatal(err)
	}
	return r
}

// commit is how long the least transaction takes.
func (f *figure) commit() time.Duration {
	f.b.Helper()
	began := time.Now()
	err := f.store.tx(f.b.Context(), func(h handle) error {
		return h.write(f.b.Context(), "update leader set since = since + 1")
	})
	if err != nil {
		f.b.Fatal(err)
	}
	return time.Since(began)
}

func (f *figure) submit(n int, prefix string) {
	f.b.Helper()
	for from := 0; from < n; from += 1000 {
		list := make([]Submission, min(1000, n-from))
		for i := range list {
			list[i] = Submission{Key: fmt.Sprint(prefix, from+i), JDL: "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; ]"}
		}
		if _, err := f.s.Submit(f.b.Context(), Person{Subject: fmt.Sprint("user", from/1000%20)}, list); err != nil {
			f.b.Fatal(err)
		}
	}
}

// delta is all slots of a cluster, or some of the next ones.
func (f *figure) delta(set *wire.Set, name string, seq uint64, from, n int) (*wire.Delta, []byte) {
	now := time.Now().Unix()
	d := &wire.Delta{Cluster: name, Seq: seq, Made: now, TTL: 3600, Base: set.Digest()}
	if seq == 1 {
		d.Full, d.Base = true, ""
		d.Site = &wire.Site{LRMS: "slurm", Start: wire.Begin}
		for i := range 250 {
			d.Site.Nodes = append(d.Site.Nodes, wire.Node{Name: fmt.Sprint("n", i), CPUs: 8, Up: true})
		}
	}
	for i := range n {
		v := wire.Slot{ID: uint64(from + i + 1), Node: fmt.Sprint("n", (from+i)%250), CPUs: 1, From: now + int64(i%7200), To: now + int64(i%7200) + 3600, Start: 0.97, Hold: 0.9}
		if i < 100 {
			v.From = now
		}
		d.Put = append(d.Put, v)
		set.Put(v)
	}
	d.Digest = set.Digest()
	text, err := new(wire.Packer).Delta(d)
	if err != nil {
		f.b.Fatal(err)
	}
	return d, text
}

func (f *figure) ingest(text []byte) {
	d, err := wire.DecodeDelta(text, wire.DefaultLimits())
	if err == nil {
		_, err = f.store.ingest(f.b.Context(), d, text, time.Now(), nil)
	}
	if err != nil {
		f.b.Error(err)
	}
}

// A whole cycle: 10 new jobs against 1,000 slots, all that follows committed.
func BenchmarkCycle10x1000(b *testing.B) {
	figures(b, func(b *testing.B, f *figure) {
		var set wire.Set
		_, text := f.delta(&set, "c", 1, 0, 1000)
		f.ingest(text)
		f.cycle()
		booked, n := 0, 0
		var took, commits []time.Duration
		for b.Loop() {
			b.StopTimer()
			f.submit(10, fmt.Sprint("k", n, "-"))
			n++
			b.StartTimer()
			r := f.cycle()
			b.StopTimer()
			booked, took = booked+r.Booked, append(took, r.Took)
			for _, q := range []string{"delete from queue", "delete from booking", "delete from action"} {
				if _, err := f.store.db.Exec(q); err != nil {
					b.Fatal(err)
				}
			}
			f.s.mem.jobs = newLine()
			commits = append(commits, f.commit())
			b.StartTimer()
		}
		if booked != 10*n {
			b.Errorf("%d of %d booked", booked, 10*n)
		}
		slices.Sort(took)
		slices.Sort(commits)
		b.ReportMetric(float64(took[len(took)/2])/float64(commits[len(commits)/2]), "commits")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	})
}

// 1,000 agents send 2,000 slots each, then for some seconds 500 deltas of 20
// slots a second: to the store, and over the API, TLS and all, while the leader
// takes in what comes.
func BenchmarkIngest(b *testing.B) {
	figures(b, func(b *testing.B, f *figure) {
		for _, way := range []struct {
			name string
			over func(clusters int) func(cluster int, text []byte)
		}{{"store", f.toStore}, {"api", f.overAPI}} {
			b.Run(way.name, func(b *testing.B) {
				f.b = b
				for b.Loop() { // once takes longer than a benchmark lasts
					if _, err := f.store.db.Exec("delete from content"); err != nil {
						b.Fatal(err)
					}
					f.ingestAll(way.name, way.over(1000))
				}
			})
		}
	})
}

func (f *figure) ingestAll(name string, send func(cluster int, text []byte)) {
	sets := make([]wire.Set, 1000)
	texts := make([][]byte, len(sets))
	for i := range sets {
		_, texts[i] = f.delta(&sets[i], fmt.Sprint(name, i), 1, 0, 2000)
	}
	began, cpu := time.Now(), testbed.Processor(f.b)
	f.leading(name == "api", func() { f.spread(texts, 2, send, nil, nil) })
	f.b.ReportMetric(time.Since(began).Seconds(), "full-s")
	f.b.ReportMetric((testbed.Processor(f.b) - cpu).Seconds(), "full-cpu-s")
	for f.cycle().Messages > 0 {
	}
	f.b.ReportMetric(time.Since(began).Seconds(), "known-s")
	for i := range sets {
		_, texts[i] = f.delta(&sets[i], fmt.Sprint(name, i), 2, 2000, 20)
	}
	took := make([]time.Duration, len(texts))
	began = time.Now()
	f.leading(name == "api", func() {
		f.spread(texts, 8, send, took, func(i int) time.Time { return began.Add(time.Duration(i) * 2 * time.Millisecond) })
	})
	slices.Sort(took)
	f.b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "delta-median-ms")
	f.b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "delta-p99-ms")
}

func (f *figure) toStore(int) func(int, []byte) {
	return func(_ int, text []byte) { f.ingest(text) }
}

// leading runs something while a leader's cycles go on, or do not.
func (f *figure) leading(leads bool, run func()) {
	if !leads {
		run()
		return
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(together):
			}
			if _, err := f.s.Cycle(f.b.Context(), f.epoch); err != nil {
				f.b.Error(err)
			}
		}
	})
	run()
	close(over)
	wg.Wait()
}

func (f *figure) overAPI(clusters int) func(int, []byte) {
	door := &Door{Clusters: map[string]ClusterConfig{}, Tokens: []TokenUser{{SHA256: HashToken("agent"), Subject: "agent"}}}
	for i := range clusters {
		door.Clusters[fmt.Sprint("api", i)] = ClusterConfig{Agents: []string{"agent"}}
	}
	f.s.conf.Clusters = door.Clusters
	server := newTLSServer(f.b, (&API{S: f.s, Door: door, Log: slog.New(slog.DiscardHandler), Rate: 1e6}).Handler())
	return func(cluster int, text []byte) {
		url := fmt.Sprint(server.URL, "/v1/clusters/api", cluster, "/slots")
		if code := ask(f.b.Context(), f.b, server.Client(), "agent", "POST", url, text, nil); code != http.StatusOK {
			f.b.Errorf("slots of %d: %d", cluster, code)
		}
	}
}

// spread takes deltas in at several connections, each at its time; what a delta
// took counts from that time on.
func (f *figure) spread(texts [][]byte, at int, send func(int, []byte), took []time.Duration, due func(int) time.Time) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for i := range next {
				begin := time.Now()
				if due != nil {
					begin = due(i)
				}
				send(i, texts[i])
				if took != nil {
					took[i] = time.Since(begin)
				}
			}
		})
	}
	for i := range texts {
		if due != nil {
			time.Sleep(time.Until(due(i)))
		}
		next <- i
	}
	close(next)
	wg.Wait()
}

// Submissions over the API, TLS and all: 2,000 in batches of 500, then 300 one
// by one by four users at a time.
func BenchmarkSubmissions(b *testing.B) {
	figures(b, func(b *testing.B, f *figure) {
		door := &Door{Tokens: []TokenUser{{SHA256: HashToken("alice"), Subject: "alice"}}}
		server := newTLSServer(b, (&API{S: f.s, Door: door, Log: slog.New(slog.DiscardHandler), Rate: 1e6}).Handler())
		post := func(prefix string, n int) {
			list := make([]Submission, n)
			for i := range list {
				list[i] = Submission{Key: fmt.Sprint(prefix, i), JDL: "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; ]"}
			}
			if code := ask(b.Context(), b, server.Client(), "alice", "POST", server.URL+"/v1/jobs", map[string]any{"jobs": list}, nil); code != http.StatusOK {
				b.Errorf("submission: %d", code)
			}
		}
		var batches, single float64
		n := 0
		for b.Loop() {
			n++
			began := time.Now()
			for k := range 4 {
				post(fmt.Sprint("b", n, "-", k, "-"), 500)
			}
			batches += 2000 / time.Since(began).Seconds()
			began = time.Now()
			var wg sync.WaitGroup
			for k := range 4 {
				wg.Go(func() {
					for i := range 75 {
						post(fmt.Sprint("s", n, "-", k, "-", i, "-"), 1)
					}
				})
			}
			wg.Wait()
			single += 300 / time.Since(began).Seconds()
		}
		b.ReportMetric(batches/float64(n), "batch-jobs/s")
		b.ReportMetric(single/float64(n), "single-jobs/s")
	})
}

// longQueue has 100,000 jobs wait, with 10,000 slots.
func (f *figure) longQueue() {
	var set wire.Set
	_, text := f.delta(&set, "c", 1, 0, 10_000)
	f.ingest(text)
	f.submit(100_000, "k")
	for f.cycle().Messages > 0 {
	}
}

// A replica takes over with 100,000 jobs in the queue and 10,000 slots: until its
// first cycle is committed, and what it holds then.
func BenchmarkRestart(b *testing.B) {
	figures(b, func(b *testing.B, f *figure) {
		f.longQueue()
		var held uint64
		for b.Loop() {
			f.again()
			cpu := testbed.Processor(b)
			f.cycle()
			b.ReportMetric((testbed.Processor(b) - cpu).Seconds(), "cpu-s")
			b.StopTimer()
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			held = max(held, m.HeapAlloc)
			b.StartTimer()
		}
		b.ReportMetric(float64(held)/1e6, "MB-held")
	})
}

// BenchmarkLongQueue is a cycle of a leader for whom 100,000 jobs wait, when one more has come.
func BenchmarkLongQueue(b *testing.B) {
	figures(b, func(b *testing.B, f *figure) {
		f.longQueue()
		n, cpu := 0, 0.0
		for b.Loop() {
			b.StopTimer()
			f.submit(1, fmt.Sprint("more", n, "-"))
			n++
			before := testbed.Processor(b)
			b.StartTimer()
			f.cycle()
			cpu += (testbed.Processor(b) - before).Seconds()
		}
		b.ReportMetric(1000*cpu/float64(n), "cpu-ms/op")
	})
}
