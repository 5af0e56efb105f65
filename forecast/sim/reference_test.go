package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/sim/tree"
	"gridbroker/testdata/reference"
	"gridbroker/testdata/testbed"
)

// outcome counts what became of the points of a group.
type outcome struct{ all, good, left int }

// TestReferencePoints compares the mean ratio of jobs done with the points of
// the results files that lie under reference/ of the directory that
// GRID_TESTDATA names. Large trees run fewer seeds than the file at first, and
// all of them where that misses. What has not been run after referenceTime is
// left out and said so: one of every kind has its turn first, the dearest come last.
// GRID_LONG runs all points, however long it takes (go test -timeout 4h).
func TestReferencePoints(t *testing.T) {
	testbed.Computes(t)
	points := readPoints(reference.Objects(t, pointKeys...))
	ctx, cancel := referenceContext(t)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	groups, next := map[string]*outcome{}, make(chan *referencePoint)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for p := range next {
				err := checkPoint(ctx, p)
				mu.Lock()
				g := groups[p.file+" "+p.Group]
				switch {
				case err == nil:
					g.good++
				case ctx.Err() != nil && errors.Is(err, ctx.Err()):
					g.left++
				default:
					t.Errorf("%s: %v", p.ID, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range points {
		mu.Lock()
		if groups[p.file+" "+p.Group] == nil {
			groups[p.file+" "+p.Group] = &outcome{}
		}
		groups[p.file+" "+p.Group].all++
		mu.Unlock()
		next <- p
	}
	close(next)
	wait.Wait()
	report(groups)
}

// report prints a line per group and one for all.
func report(groups map[string]*outcome) {
	names, sum := []string{}, outcome{}
	for name, g := range groups {
		names = append(names, name)
		sum.all, sum.good, sum.left = sum.all+g.all, sum.good+g.good, sum.left+g.left
	}
	slices.Sort(names)
	for _, name := range names {
		g := groups[name]
		fmt.Printf("  %s: %d of %d points, %d left out for lack of time\n", name, g.good, g.all, g.left)
	}
	fmt.Printf("metacomputer: %d of %d points (ratio within 0.03; %d left out for lack of time)\n", sum.good, sum.all, sum.left)
}

// referenceTime is how long points of the reference are run for unless GRID_LONG
// is set: they take turns among the groups, and each group has its first ones.
const referenceTime = 40 * time.Second

// referenceContext ends when no more points are to be run, in time for the package's other tests.
func referenceContext(t *testing.T) (context.Context, context.CancelFunc) {
	end := time.Now().Add(referenceTime)
	last, ok := t.Deadline()
	last = last.Add(-2 * time.Minute)
	switch {
	case os.Getenv("GRID_LONG") != "" && !ok:
		return context.WithCancel(t.Context())
	case os.Getenv("GRID_LONG") != "" || ok && last.Before(end):
		end = last
	}
	return context.WithDeadline(t.Context(), end)
}

func checkPoint(ctx context.Context, p *referencePoint) error {
	if p.err != nil {
		return p.err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	seeds, want := p.seeds(), p.Metrics.Ratio[0]
	got, err := meanRatio(ctx, p, seeds)
	if err == nil && math.Abs(got-want) > 0.03 && seeds < p.Seeds {
		seeds = p.Seeds
		got, err = meanRatio(ctx, p, seeds)
	}
	if err == nil && math.Abs(got-want) > 0.03 {
		err = fmt.Errorf("ratio %.4f over %d seeds, want %.4f", got, seeds, want)
	}
	return err
}

func meanRatio(ctx context.Context, p *referencePoint, seeds int) (float64, error) {
	sum := 0.0
	for seed := 1; seed <= seeds; seed++ {
		jobs, err := p.Work.Draw(uint64(seed))
		if err != nil {
			return 0, err
		}
		r, err := tree.Run(ctx, p.Config, p.Work.NodesOf(), jobs, p.Work.Horizon, uint64(seed))
		if err != nil {
			return 0, err
		}
		sum += r.Ratio
	}
	return sum / float64(seeds), nil
}
