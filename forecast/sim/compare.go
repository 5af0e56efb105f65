package sim

import (
	"context"
	"math"
	"sort"

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
	return map[string]float64{
		"wait_mean": r.MeanWait, "wait_median": r.MedianWait, "wait_p95": r.P95Wait, "bounded_slowdown_mean": r.Slowdown,
		"completion_mean": r.Completion, "utilisation": r.Utilisation, "local_wait_mean": r.LocalWait, "spread": r.Spread,
		"unplaced": float64(r.Unplaced),
	}
}

// Compare plays every policy with every seed, so many at once, and tells of each that is done.
func (s *Scenario) Compare(ctx context.Context, parallel int, done func(*Run)) (*Result, error) {
	runs := make([]*Run, len(s.Policies)*s.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, parallel))
	finished := make(chan *Run, len(runs))
	for i, policy := range s.Policies {
		for seed := range s.Seeds {
			group.Go(func() error {
				r, err := s.Play(ctx, policy, uint64(seed+1))
				if err == nil {
					runs[i*s.Seeds+seed] = r
					finished <- r
				}
				return err
			})
		}
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		for r := range finished {
			done(r)
		}
	}()
	err := group.Wait()
	close(finished)
	<-told
	if err != nil {
		return nil, err
	}
	return s.summarise(runs), nil
}

func (s *Scenario) summarise(runs []*Run) *Result {
	r := &Result{Scenario: s, Runs: runs}
	for i, policy := range s.Policies {
		mine := runs[i*s.Seeds : (i+1)*s.Seeds]
		c := Compared{Policy: policy, Figures: map[string]Figure{}}
		for name := range mine[0].figures() {
			values, diffs := make([]float64, s.Seeds), make([]float64, s.Seeds)
			for k := range mine {
				values[k] = mine[k].figures()[name]
				diffs[k] = values[k] - runs[k].figures()[name]
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

// interval returns the mean and half the 95 % confidence interval.
func interval(xs []float64) (mean, half float64) {
	mean, sd := meanDeviation(xs)
	if n := float64(len(xs)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		half = t * sd / math.Sqrt(n)
	}
	return mean, half
}

// ecdf returns the distribution of waits over all seeds, at sixty points.
func ecdf(runs []*Run) (points [][2]float64) {
	var all []float64
	for _, r := range runs {
		all = append(all, r.waits...)
	}
	sort.Float64s(all)
	for k := 0; k <= 60 && len(all) > 0; k++ {
		at := min(len(all)-1, k*len(all)/60)
		points = append(points, [2]float64{all[at], float64(at+1) / float64(len(all))})
	}
	return points
}
