package batch_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/batch"
	"gridbroker/batch/batchtest"
	"gridbroker/testdata/testbed"
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
	testbed.Computes(t)
	dir := traces(t)
	for _, trace := range []struct{ name, file string }{
		{"nasa", "NASA-iPSC-1993-3.1-cln"}, {"kth", "KTH-SP2-1996-2.1-cln"}, {"sdscsp2", "SDSC-SP2-1998-4.2-cln"},
	} {
		tasks, procs := batchtest.Load(t, filepath.Join(dir, trace.file+".swf.gz"))
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

func BenchmarkReplay(b *testing.B) {
	dir := traces(b)
	tasks, procs := batchtest.Load(b, filepath.Join(dir, "CTC-SP2-1996-3.1-cln.swf.gz"))
	for _, policy := range batch.PolicyNames() {
		b.Run("ctc/"+policy, func(b *testing.B) {
			before := testbed.Processor(b).Seconds()
			for b.Loop() {
				replay(b, tasks, procs, batch.Policy{Name: policy})
			}
			b.ReportMetric(float64(len(tasks)*b.N)/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(float64(len(tasks)*b.N)/(testbed.Processor(b).Seconds()-before), "jobs/cpu-s")
		})
	}
}

// TestMauiTable compares mean wait (s) and bounded slowdown of Maui's
// variants with those of an independent simulator.
func TestMauiTable(t *testing.T) {
	testbed.Computes(t)
	dir := traces(t)
	rows := []struct {
		params string
		want   [3][2]float64 // KTH, SDSC-SP2, CTC; zero: not known
	}{
		{"BACKFILLPOLICY=NONE", [3][2]float64{{390092, 7514}, {1551989, 13993}, {767876, 4261}}},
		{"RESERVATIONDEPTH=1", [3][2]float64{{6858, 90.83}, {21226, 93.05}, {14565, 50.05}}},
		{"RESERVATIONDEPTH=2", [3][2]float64{{7095, 90.77}, {22837, 96.10}, {16321, 56.21}}},
		{"RESERVATIONDEPTH=4", [3][2]float64{{7221, 90.48}, {23549, 98.67}}},
		{"RESERVATIONDEPTH=8", [3][2]float64{{7907, 99.72}, {24758, 104.37}, {21230, 65.39}}},
		{"RESERVATIONDEPTH=64", [3][2]float64{{8082, 102.02}, {25207, 103.46}, {22296, 70.07}}},
		{"RESERVATIONDEPTH=UNLIMITED", [3][2]float64{{8081, 101.91}, {24995, 101.44}, {21983, 67.55}}},
		{"BACKFILLPOLICY=BESTFIT", [3][2]float64{{7314, 95.49}, {22759, 107.79}, {18473, 67.19}}},
		{"BACKFILLPOLICY=BESTFIT BACKFILLMETRIC=SECONDS", [3][2]float64{{6930, 92.33}, {22090, 98.40}, {13871, 53.11}}},
		{"BACKFILLPOLICY=BESTFIT BACKFILLMETRIC=PROCSECONDS", [3][2]float64{{7365, 102.69}, {23689, 109.23}, {17281, 63.64}}},
		{"BACKFILLPOLICY=GREEDY", [3][2]float64{{6616, 81.38}, {21206, 93.99}, {14650, 50.29}}},
		{"BACKFILLPOLICY=GREEDY BACKFILLMETRIC=PROCSECONDS", [3][2]float64{{7220, 97.74}, {22456, 100.45}}},
	}
	long := os.Getenv("GRID_LONG") != "" // of the larger two traces three rows each otherwise, no two the same
	for i, file := range []string{"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"} {
		tasks, procs := batchtest.Load(t, filepath.Join(dir, file+".swf.gz"))
		for n, row := range rows {
			if row.want[i] == [2]float64{} || i > 0 && (testing.Short() || !long && n%4 != i) {
				continue
			}
			t.Run(file[:3]+"/"+row.params, func(t *testing.T) {
				wait, slowdown := means(t, tasks, procs, maui(t, row.params))
				near(t, "mean wait", wait, row.want[i][0])
				near(t, "slowdown", slowdown, row.want[i][1])
			})
		}
	}
}

func maui(t testing.TB, params string) batch.Policy {
	t.Helper()
	p := batch.Policy{Name: "maui"}
	for _, param := range strings.Fields(params) {
		key, value, _ := strings.Cut(param, "=")
		if err := p.Maui.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func means(t testing.TB, tasks []batch.Task, procs int, p batch.Policy) (wait, slowdown float64) {
	t.Helper()
	starts := replay(t, tasks, procs, p)
	sum := batch.NewSummary(procs)
	for _, k := range tasks {
		sum.Add(batch.Start{Task: k, Start: starts[k.ID]})
	}
	all := sum.Total()
	return all.MeanWait, all.MeanSlowdown
}

// near allows one part in a thousand, the table's own rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > want/1000 {
		t.Errorf("%s %.2f, want %.2f", what, got, want)
	}
}
