package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
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
// all of them where that misses. Beside other tests, what has not been run after referenceTime is
// left out and said so: one of every kind has its turn first, the dearest come last.
// Who asks for them alone (-run Reference, or GRID_LONG) gets all that can be run until two minutes
// before the test's own end (go test -timeout), and is told how far they are.
func TestReferencePoints(t *testing.T) {
	testbed.Computes(t)
	points := readPoints(reference.Objects(t, pointKeys...))
	ctx, cancel := referenceContext(t)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	groups, next := groupsOf(points), make(chan *referencePoint)
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
	told := time.Now()
	for _, p := range points {
		next <- p
		mu.Lock()
		if time.Since(told) > referenceTime {
			told = time.Now()
			fmt.Println(summary(groups), "so far")
		}
		mu.Unlock()
	}
	close(next)
	wait.Wait()
	report(groups)
}

// groupsOf counts the points of every group of every file.
func groupsOf(points []*referencePoint) map[string]*outcome {
	groups := map[string]*outcome{}
	for _, p := range points {
		name := p.file + " " + p.Group
		if groups[name] == nil {
			groups[name] = &outcome{}
		}
		groups[name].all++
	}
	return groups
}

// summary is one line for all groups.
func summary(groups map[string]*outcome) string {
	sum := outcome{}
	for _, g := range groups {
		sum.all, sum.good, sum.left = sum.all+g.all, sum.good+g.good, sum.left+g.left
	}
	return fmt.Sprintf("metacomputer: %d of %d points (ratio within 0.03; %d left out for lack of time)", sum.good, sum.all, sum.left)
}

// report prints a line per group and one for all.
func report(groups map[string]*outcome) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		fmt.Printf("  %s: %d of %d points, %d left out for lack of time\n", name, g.good, g.all, g.left)
	}
	fmt.Println(summary(groups))
}

// referenceTime is how long points of the reference are run for beside other tests: they
// take turns among the groups, and each group has its first ones.
const referenceTime = 6 * time.Second

// asked tells whether whoever runs the tests wants the points of the reference.
func asked() bool {
	run := flag.Lookup("test.run")
	alone := run != nil && strings.Contains(run.Value.String(), "Reference") && !strings.HasPrefix(run.Value.String(), "^(") // so does run-tests.sh
	return os.Getenv("GRID_LONG") != "" || alone
}

// referenceContext ends when no more points are to be run, in time for the package's other tests.
func referenceContext(t *testing.T) (context.Context, context.CancelFunc) {
	end := time.Now().Add(referenceTime)
	last, ok := t.Deadline()
	last = last.Add(-2 * time.Minute)
	switch {
	case asked() && !ok:
		return context.WithCancel(t.Context())
	case asked() || ok && last.Before(end):
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
