package managers_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gridbroker/forecast/sim/tree"
)

// TestReferenceSchedules runs the job lists under reference/ of the directory
// that GRID_TESTDATA names and compares every start with the schedules there.
// Those of independent systems and of full information must agree exactly;
// those of trees are of one protocol and are counted as equal if the ratio of
// jobs done is within 0.03 and the mean wait within 15 %.
func TestReferenceSchedules(t *testing.T) {
	dir := filepath.Join(os.Getenv("GRID_TESTDATA"), "reference")
	files, _ := filepath.Glob(filepath.Join(dir, "metacomputer-*-starts.csv"))
	if os.Getenv("GRID_TESTDATA") == "" || len(files) == 0 {
		t.Skip("GRID_TESTDATA names no directory with reference/metacomputer-*-starts.csv")
	}
	good := 0
	for _, file := range files {
		jobs, c := setting(t, file)
		want := readFile(t, file, tree.ReadStarts)
		got, err := tree.Run(c, []int{10, 10, 10, 10}, jobs, 5000, 1)
		if err != nil {
			t.Fatal(err)
		}
		same := 0
		for i := range want {
			if s := got.Starts[i]; s == want[i] || s.System < 0 && want[i].System < 0 {
				same++
			}
		}
		ratio, wait := figures(jobs, want, 5_000_000)
		ok := same == len(want)
		if c.Mode == "tree" {
			ok = ok || math.Abs(ratio-got.Ratio) <= 0.03 && math.Abs(wait-got.MeanWait) <= 0.15*wait
		}
		if ok {
			good++
		} else {
			t.Errorf("%s: %d of %d starts agree; ratio %.4f, want %.4f", filepath.Base(file), same, len(want), got.Ratio, ratio)
		}
		fmt.Printf("%s: %d of %d starts\n", filepath.Base(file), same, len(want))
	}
	fmt.Printf("metacomputer: %d of %d schedules\n", good, len(files))
}

// setting reads the jobs and the configuration that a schedule's name tells: metacomputer-LIST-MODE-DISCIPLINE-starts.csv.
func setting(t *testing.T, file string) ([]tree.Job, tree.Config) {
	t.Helper()
	part := strings.Split(strings.TrimSuffix(filepath.Base(file), "-starts.csv"), "-")
	if len(part) < 4 {
		t.Fatalf("%s: the name tells no setting", file)
	}
	n := len(part)
	list, mode := strings.Join(part[:n-2], "-"), part[n-2]
	c := tree.Config{Mode: mode, Discipline: part[n-1], Latency: 100, Handshake: true, Mark: "ack", Fanout: 4}
	if fanout, ok := strings.CutPrefix(mode, "tree"); ok {
		c.Mode = "tree"
		c.Fanout, _ = strconv.Atoi(fanout)
	} else if mode == "star" {
		c.Mode = "tree"
	}
	return readFile(t, filepath.Join(filepath.Dir(file), list+"-jobs.csv"), tree.ReadJobs), c
}

func figures(jobs []tree.Job, starts []tree.Start, horizon int64) (ratio, wait float64) {
	done, started := 0, 0
	for i, s := range starts {
		if s.System < 0 {
			continue
		}
		started++
		wait += float64(s.At-jobs[i].Submit) / tree.TicksPerUnit
		if s.At+jobs[i].Run <= horizon {
			done++
		}
	}
	return float64(done) / float64(len(jobs)), wait / float64(max(1, started))
}
