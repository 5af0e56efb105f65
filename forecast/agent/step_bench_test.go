package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// busy is a cluster of 1,000 nodes of 16 processors on which 5,000 jobs run and
// fill them, and 10,000 wait.
func busy(nodes, running, waiting int) batch.State {
	rng := rand.New(rand.NewPCG(5, 6))
	s := batch.State{Now: time.Unix(1_800_000_000, 0).UTC(), Cluster: "big", Queues: []batch.Queue{{Name: "all"}}}
	each := running / nodes
	for i := range nodes {
		s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprintf("n%04d", i), CPUs: each, Memory: int64(each) * 4096, Up: true})
	}
	for i := range running + waiting {
		j := batch.Job{
			ID: fmt.Sprint(i), User: fmt.Sprint("u", rng.IntN(200)), Procs: 1, Memory: int64(1024 * (1 + rng.IntN(4))), Queue: "all",
			Requested: time.Duration(1+rng.IntN(48*60)) * time.Minute,
		}
		if i < running {
			j.Started = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested/time.Second))) * time.Second)
			j.Submitted, j.Placed = j.Started.Add(-time.Hour), []batch.Placement{{Node: s.Nodes[i%nodes].Name, Procs: 1}}
		} else {
			j.Submitted = s.Now.Add(-time.Duration(waiting+running-i) * time.Second)
			j.Procs = 1 << rng.IntN(7)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// BenchmarkStep measures what an agent at a cluster with 10,000 waiting jobs
// spends on an event, from the look that shows it until the scheduler has the
// slots: a job that runs ends before its time, and a new one comes.
func BenchmarkStep(b *testing.B) {
	for _, policy := range []string{"easy", "slurm"} {
		b.Run(policy, func(b *testing.B) { benchmarkStep(b, policy) })
	}
}

func benchmarkStep(b *testing.B, policy string) {
	c := &yes{}
	srv := httptest.NewServer(c)
	b.Cleanup(srv.Close)
	site := &site{busy(1000, 5000, 10000)}
	now := site.state.Now
	a := &Agent{Conf: Config{Cluster: "c", Scheduler: srv.URL, Memory: filepath.Join(b.TempDir(), "memory"), Site: wire.Site{LRMS: "test"}}, Reader: site, Account: nobody{},
		Forecast: &batch.Forecaster{Policy: batch.Policy{Name: policy}, Errors: &batch.Errors{}}, HTTP: http.DefaultClient,
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	if err := a.Step(context.Background()); err != nil {
		b.Fatal(err)
	}
	before, slots, n := testbed.Processor(b), c.took, 0
	for b.Loop() {
		now = now.Add(time.Second)
		site.state.Now = now
		site.state.Jobs = site.state.Jobs[1:]
		site.state.Jobs = append(site.state.Jobs, batch.Job{ID: fmt.Sprint("new", n), User: "u1", Queue: "all", Procs: 4, Requested: time.Hour, Submitted: now})
		if err := tell(context.Background(), a); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if c.took == slots {
		b.Fatal("nothing was published")
	}
	b.ReportMetric((testbed.Processor(b)-before).Seconds()*1000/float64(n), "cpu-ms/op")
}

// nobody is an accountant who knows of nothing.
type nobody struct{}

func (nobody) Endings(context.Context, time.Time) ([]batch.Ending, error) { return nil, nil }

// yes is a scheduler that keeps no slots, and agrees.
type yes struct {
	set  wire.Set
	took int
}

func (c *yes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	d, err := wire.DecodeDelta(text, wire.DefaultLimits())
	if err != nil {
		panic(err)
	}
	if err := c.set.Apply(d); err != nil {
		panic(err)
	}
	c.took++
	fmt.Fprintf(w, `{"schema":%q,"seq":%d,"digest":%q}`, wire.AckSchema, d.Seq, c.set.Digest())
}
