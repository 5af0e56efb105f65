package sim

import (
	"context"
	"math"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat/distuv"
)

// Result compares the policies of a scenario.
type Result struct {
	Scenario *Scenario  `json:"scenario"`
	Policies []Compared `json:"policies"`
	Runs     []*Run     `json:"runs"`
}

// Compared is one policy over all seeds.
type Compared struct {
	Policy  string            `json:"policy"`
	Figures map[string]Figure `json:"figures"`
	ECDF    [][2]float64      `json:"wait_ecdf"` // wait in seconds, share of jobs that wait no longer
}

// Figure is a mean over seeds with its 95 % confidence interval (Student's t),
// and the mean difference to the first policy on the same jobs with its own.
type Figure struct {
	Mean     float64 `json:"mean"`
	Half     float64 `json:"half"`            // half the width of the interval; 0 for one seed
	Diff     float64 `json:"difference"`      // to the first policy, paired by seed
	DiffHalf float64 `json:"difference_half"` // half the width of its interval
}

// Significant says whether the difference is not zero with 95 % confidence.
func (f Figure) Significant() bool { return math.Abs(f.Diff) > f.DiffHalf && f.DiffHalf > 0 }

// figures are those of a run, by name.
func (r *Run) figures() map[string]float64 {
	per := float64(max(1, r.Jobs+r.Failed+r.Unplaced))
	f := map[string]float64{
		"wait_mean": r.MeanWait, "wait_median": r.MedianWait, "wait_p95": r.P95Wait, "wait_p99": r.P99Wait,
		"bounded_slowdown_mean": r.Slowdown, "completion_mean": r.Completion, "utilisation": r.Utilisation,
		"local_wait_mean": r.LocalWait, "global_to_local": r.MeanWait / max(1, r.LocalWait), "spread": r.Spread, "fairness": r.Fairness,
		"unplaced": float64(r.Unplaced), "failed": float64(r.Failed), "again": float64(r.Again), "moved": float64(r.Moved),
		"away": float64(r.Away) / per, "messages": float64(r.Messages) / per, "missed": float64(r.Missed) / float64(max(1, r.Booked)),
	}
	for _, c := range r.Classes {
		f["wait_mean "+c.Name], f["bounded_slowdown_mean "+c.Name] = c.MeanWait, c.Slowdown
	}
	return f
}

// Options say how a comparison is played.
type Options struct {
	Parallel int
	Done     func(*Run)              // is told of each run as it is done; may be nil
	Have     map[RunID]*Run          // runs that were played before
	Keep     func(RunID, *Run) error // keeps a new run; may be nil
}

// RunID names a run of a scenario.
type RunID struct {
	Policy string
	Seed   uint64
}

// Compare plays every policy with every seed.
func (s *Scenario) Compare(ctx context.Context, o Options) (*Result, error) {
	runs := make([]*Run, len(s.Policies)*s.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Parallel))
	var mu sync.Mutex
	for i, policy := range s.Policies {
		for seed := range s.Seeds {
			group.Go(func() error {
				id := RunID{policy, uint64(seed + 1)}
				r := o.Have[id]
				isNew := r == nil
				if isNew {
					var err error
					if r, err = s.Play(ctx, policy, id.Seed); err != nil {
						return err
					}
				}
				mu.Lock()
				defer mu.Unlock()
				runs[i*s.Seeds+seed] = r
				if o.Done != nil {
					o.Done(r)
				}
				if isNew && o.Keep != nil {
					return o.Keep(id, r)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return s.summarise(runs), nil
}

func (s *Scenario) summarise(runs []*Run) *Result {
	r := &Result{Scenario: s, Runs: runs}
	for i, policy := range s.Policies {
		mine := runs[i*s.Seeds : (i+1)*s.Seeds]
		c := Compared{Policy: policy, Figures: map[string]Figure{}}
		for name := range figureNames(mine) {
			var values, diffs []float64 // of the seeds that have the figure: not every one has jobs of every size
			for k := range mine {
				value, ok := mine[k].figures()[name]
				if !ok {
					continue
				}
				values = append(values, value)
				if first, ok := runs[k].figures()[name]; ok {
					diffs = append(diffs, value-first)
				}
			}
			var f Figure
			f.Mean, f.Half = interval(values)
			f.Diff, f.DiffHalf = interval(diffs)
			c.Figures[name] = f
		}
		c.ECDF = ecdf(mine)
		r.Policies = append(r.Policies, c)
	}
	return r
}

// figureNames are the figures of any of the runs.
func figureNames(runs []*Run) map[string]bool {
	names := map[string]bool{}
	for _, r := range runs {
		for name := range r.figures() {
			names[name] = true
		}
	}
	return names
}

// interval returns the mean and half the 95 % confidence interval.
func interval(xs []float64) (mean, half float64) {
	mean, sd := meanDeviation(xs)
	if n := float64(len(xs)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		half = t * sd / math.Sqrt(n)
	}
	return mean, half
}

// ecdf returns the distribution of waits over all seeds, at sixty points, from the sixty points of each.
func ecdf(runs []*Run) (points [][2]float64) {
	var all []float64
	for _, r := range runs {
		for _, p := range r.ECDF {
			all = append(all, p[0])
		}
	}
	sort.Float64s(all)
	for k := 0; k <= 60 && len(all) > 0; k++ {
		at := min(len(all)-1, k*len(all)/60)
		points = append(points, [2]float64{all[at], float64(at+1) / float64(len(all))})
	}
	return points
}
