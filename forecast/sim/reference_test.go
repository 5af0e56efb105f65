package sim_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/sim/tree"
)

// TestReferencePoints compares the mean ratio of jobs done with every point of
// the results files that lie under reference/ of the directory that
// GRID_TESTDATA names. Large trees run fewer seeds than the file, and what has
// not been run after referenceTime (eight minutes) is left out and said so, as tests may take
// ten. GRID_REFERENCE=full runs all seeds of all points (go test -timeout 2h).
func TestReferencePoints(t *testing.T) {
	points := readPoints(t)
	full, deadline := os.Getenv("GRID_REFERENCE") == "full", time.Now().Add(referenceTime)
	var good, left atomic.Int64
	var wait sync.WaitGroup
	next := make(chan *tree.Point)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for p := range next {
				if !full && time.Now().After(deadline) {
					left.Add(1)
					continue
				}
				seeds := seedsOf(p, full)
				got, err := meanRatio(p, seeds)
				switch want := p.Metrics["ratio"][0]; {
				case err != nil:
					t.Errorf("%s: %v", p.ID, err)
				case math.Abs(got-want) <= 0.03:
					good.Add(1)
				default:
					t.Errorf("%s: ratio %.4f over %d seeds, want %.4f", p.ID, got, seeds, want)
				}
			}
		})
	}
	for i := range points {
		next <- &points[i]
	}
	close(next)
	wait.Wait()
	fmt.Printf("metacomputer: %d of %d points (ratio within 0.03; %d left out for lack of time)\n", good.Load(), len(points), left.Load())
}

func readPoints(t *testing.T) (points []tree.Point) {
	t.Helper()
	dir := os.Getenv("GRID_TESTDATA")
	files, _ := filepath.Glob(filepath.Join(dir, "reference", "metacomputer-*.json"))
	if dir == "" || len(files) == 0 {
		t.Skip("GRID_TESTDATA names no directory with reference/metacomputer-*.json")
	}
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		more, err := tree.ReadPoints(in)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		points = append(points, more...)
	}
	slices.SortStableFunc(points, func(a, b tree.Point) int { return cmp.Compare(cost(&a), cost(&b)) })
	return points
}

// cost estimates the messages of a run.
func cost(p *tree.Point) int {
	n := p.Work.Jobs * p.Work.Systems
	if p.Config.Mark == managers.MarkNone {
		n *= 50
	}
	return n
}

func seedsOf(p *tree.Point, full bool) int {
	switch {
	case full || p.Work.Systems <= 4:
		return p.Seeds
	case p.Work.Systems <= 16:
		return min(p.Seeds, 3)
	}
	return 1
}

func meanRatio(p *tree.Point, seeds int) (float64, error) {
	sum := 0.0
	for seed := 1; seed <= seeds; seed++ {
		jobs, err := p.Work.Draw(uint64(seed))
		if err != nil {
			return 0, err
		}
		r, err := tree.Run(p.Config, p.Work.NodesOf(), jobs, p.Work.Horizon, uint64(seed))
		if err != nil {
			return 0, err
		}
		sum += r.Ratio
	}
	return sum / float64(seeds), nil
}
