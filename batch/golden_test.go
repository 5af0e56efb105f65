package batch_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/swf"
)

// testdata is the directory of the large traces; the test is skipped where
// there is none.
func traces(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" {
		t.Skip("GRID_TESTDATA does not name a directory with traces/")
	}
	return filepath.Join(dir, "traces")
}

// load reads and cleans a whole trace.
func load(t testing.TB, path string) (tasks []batch.Task, procs int) {
	t.Helper()
	r, err := swf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &swf.Cleaner{Source: r, Name: path}
	for {
		j, err := c.Next()
		if err == io.EOF {
			return tasks, c.Procs
		}
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, batch.Task{ID: j.ID, Submit: j.Submit, Run: j.Run, Limit: j.Limit, Procs: j.Procs, User: j.User})
	}
}

func stream(tasks []batch.Task) iter.Seq2[batch.Task, error] {
	return func(yield func(batch.Task, error) bool) {
		for _, t := range tasks {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func replay(t testing.TB, tasks []batch.Task, procs int, p batch.Policy) []int64 {
	t.Helper()
	m, err := batch.NewMachine(procs, p)
	if err != nil {
		t.Fatal(err)
	}
	starts := make([]int64, len(tasks)+1)
	for s, err := range m.Replay(stream(tasks)) {
		if err != nil {
			t.Fatal(err)
		}
		starts[s.ID] = s.Start
	}
	return starts
}

func golden(t testing.TB, path string) (starts []int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	starts = []int64{0}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var id, at int64
		if _, err := fmt.Sscan(lines.Text(), &id, &at); err != nil || id != int64(len(starts)) {
			t.Fatalf("%s: line %q: %v", path, lines.Text(), err)
		}
		starts = append(starts, at)
	}
	return starts
}

// TestGolden compares the start of every job with those that two independent
// simulators agree on.
func TestGolden(t *testing.T) {
	dir := traces(t)
	for _, trace := range []struct{ name, file string }{
		{"nasa", "NASA-iPSC-1993-3.1-cln"}, {"kth", "KTH-SP2-1996-2.1-cln"}, {"sdscsp2", "SDSC-SP2-1998-4.2-cln"},
	} {
		tasks, procs := load(t, filepath.Join(dir, trace.file+".swf.gz"))
		for suffix, policy := range map[string]string{
			"fcfs": "fcfs", "easy": "easy", "cons": "conservative", "sjbf": "easy-sjbf", "maui": "maui",
		} {
			path := filepath.Join(dir, "golden", trace.name+"."+suffix+".gz")
			if _, err := os.Stat(path); err != nil {
				continue // sjbf and maui are there for one trace only
			}
			t.Run(trace.name+"/"+policy, func(t *testing.T) {
				want := golden(t, path)
				got := replay(t, tasks, procs, batch.Policy{Name: policy})
				differ(t, got, want)
			})
		}
	}
}

func differ(t *testing.T, got, want []int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d jobs, want %d", len(got)-1, len(want)-1)
	}
	n := 0
	for id := range want {
		if got[id] != want[id] {
			if n++; n <= 3 {
				t.Errorf("job %d starts at %d, want %d", id, got[id], want[id])
			}
		}
	}
	if n > 0 {
		t.Errorf("%d of %d starts differ", n, len(want)-1)
	}
}

// cpu is the CPU time this process has used, in seconds: on a busy machine a
// fairer measure than the clock.
func cpu(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func BenchmarkReplay(b *testing.B) {
	dir := traces(b)
	tasks, procs := load(b, filepath.Join(dir, "CTC-SP2-1996-3.1-cln.swf.gz"))
	for _, policy := range batch.PolicyNames() {
		b.Run("ctc/"+policy, func(b *testing.B) {
			before := cpu(b)
			for b.Loop() {
				replay(b, tasks, procs, batch.Policy{Name: policy})
			}
			b.ReportMetric(float64(len(tasks)*b.N)/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(float64(len(tasks)*b.N)/(cpu(b)-before), "jobs/cpu-s")
		})
	}
}

func TestMauiTable(t *testing.T) {
	dir := traces(t)
	for _, v := range []batch.Maui{
		{ReservationDepth: 2}, {ReservationDepth: 4}, {ReservationDepth: 8}, {ReservationDepth: 64}, {ReservationDepth: batch.Unlimited},
		{Backfill: "BESTFIT"}, {Backfill: "BESTFIT", Metric: "SECONDS"}, {Backfill: "BESTFIT", Metric: "PROCSECONDS"},
		{Backfill: "GREEDY"}, {Backfill: "GREEDY", Metric: "PROCSECONDS"},
	} {
		for _, f := range []string{"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"} {
			tasks, procs := load(t, filepath.Join(dir, f+".swf.gz"))
			st := replay(t, tasks, procs, batch.Policy{Name: "maui", Maui: v})
			var w, b float64
			for _, k := range tasks {
				x := float64(st[k.ID] - k.Submit)
				w += x
				b += max(1, (x+float64(k.Run))/max(10, float64(k.Run)))
			}
			n := float64(len(tasks))
			t.Logf("%+v %s %.0f %.2f", v, f[:3], w/n, b/n)
		}
	}
}
