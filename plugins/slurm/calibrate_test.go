package slurm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// TestCalibration fills a partition of the real Slurm with jobs of many sizes
// and limits and compares the starts that its backfill plans with those that
// the policy slurm foretells from one reading of the queue: the share that
// agrees within a pass and a step of its plan, and the share of neighbours in
// the order of starts that are in the same order. Slurm tells the plan of one pass,
// the forecast what all passes to come would make of it: the jobs have their nodes
// for themselves, so that none leaves anything of its place by which the next pass
// would plan otherwise.
func TestCalibration(t *testing.T) { clusters(t, calibrated) }

func calibrated(t *testing.T, c *cluster) {
	const jobs = 60
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []string
	t.Cleanup(func() { c.command(t, append([]string{"scancel"}, ids...)...) })
	for range jobs {
		out := c.command(t, "sbatch", "--parsable", "-p", "long", "-J", "calibrate", "-o", "/dev/null", "-n", fmt.Sprint(1+rng.IntN(8)),
			"--exclusive", "-t", fmt.Sprint(1+rng.IntN(40)), "--wrap", "sleep 3000")
		ids = append(ids, strings.TrimSpace(out))
	}
	time.Sleep(12 * time.Second) // some passes
	reader, err := c.QueueReader(c.urls["ssh"])
	if err != nil {
		t.Fatal(err)
	}
	within, ordered, n := 0, 0, 0
	for range 10 { // others may have used the cluster between two readings
		if within, ordered, n = calibrate(t, c, reader); within*100 >= 95*n {
			break
		}
		time.Sleep(5 * time.Second)
	}
	t.Logf("%d jobs: %.1f %% within a pass and a step, %.1f %% in order", n, 100*float64(within)/float64(n), 100*float64(ordered)/float64(n))
	if within*100 < 95*n || ordered*100 < 95*n {
		t.Errorf("of %d starts %d agree, %d are in order", n, within, ordered)
	}
}

// calibrate compares once.
func calibrate(t *testing.T, c *cluster, reader plugins.QueueReader) (within, ordered, n int) {
	t.Helper()
	state, err := reader.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := c.command(t, "squeue", "-h", "-t", "PD", "-n", "calibrate", "-o", "%i %S")
	p := batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3 * time.Second, Window: 14 * 24 * time.Hour, MaxJobTest: 5000}}
	f := batch.Forecaster{Policy: p}
	out, err := f.Forecast(state)
	if err != nil {
		t.Fatal(err)
	}
	foretold := map[string]time.Time{}
	for _, e := range out.Jobs {
		foretold[e.ID] = e.Start
	}
	return compareStarts(t, said, foretold)
}

// planned is a start that Slurm plans and the one foretold.
type planned struct{ said, foretold time.Time }

func compareStarts(t *testing.T, said string, foretold map[string]time.Time) (within, ordered, n int) {
	t.Helper()
	var list []planned
	for line := range strings.Lines(said) {
		f := strings.Fields(line)
		at, err := time.ParseInLocation("2006-01-02T15:04:05", f[1], time.Local)
		start, ok := foretold[f[0]]
		if err == nil && ok {
			list = append(list, planned{at, start})
		}
	}
	if len(list) < 20 {
		t.Fatalf("only %d jobs have a planned start", len(list))
	}
	slices.SortStableFunc(list, func(a, b planned) int { return a.said.Compare(b.said) })
	for i, p := range list {
		if p.said.Sub(p.foretold).Abs() <= 63*time.Second {
			within++
		}
		if i == 0 || !p.foretold.Before(list[i-1].foretold.Add(-63*time.Second)) {
			ordered++
		}
	}
	return within, ordered, len(list)
}
