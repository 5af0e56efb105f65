package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variation is one value of a scenario played for several values, all else and
// all seeds being equal.
type Variation struct {
	Key    string   `json:"key"`
	Points []Varied `json:"points"`
}

// Varied is the comparison at one value.
type Varied struct {
	Value  string  `json:"value"`
	Winner Winner  `json:"winner"`
	Result *Result `json:"result"`
}

// Winner is the policy with the least mean wait of global jobs.
type Winner struct {
	Policy string `json:"policy"`
	Sure   bool   `json:"sure"` // the paired difference to the second has a 95 % interval above zero
	Second string `json:"second,omitempty"`
}

// Keys are the names of what can be varied, with what a value is.
func Keys() [][2]string {
	return [][2]string{
		{"load", "global load"}, {"local-load", "local load of every site"}, {"estimate", "factor on the times that users ask for"},
		{"refresh", "how often every site publishes"}, {"spread", "speed of the fastest site over that of the slowest, the others between"},
		{"max-procs", "widest job"}, {"loss", "share of submissions lost"},
	}
}

// With returns the scenario with one value changed. Traces are shared.
func (s *Scenario) With(key, value string) (*Scenario, error) {
	c := *s
	c.Sites = slices.Clone(s.Sites)
	if err := c.set(key, value); err != nil {
		return nil, err
	}
	return &c, c.Check()
}

func (s *Scenario) set(key, value string) (err error) {
	number := func(to *float64) {
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			err = errors.New("want a number")
		}
	}
	switch key {
	case "load":
		number(&s.Jobs.Load)
	case "estimate":
		number(&s.Jobs.Estimate)
	case "loss":
		number(&s.Network.Loss)
	case "max-procs":
		if s.Jobs.MaxProcs, err = strconv.Atoi(value); err != nil {
			err = errors.New("want a whole number")
		}
	case "local-load":
		var x float64
		number(&x)
		for i := range s.Sites {
			s.Sites[i].LocalLoad = x
		}
	case "refresh":
		var d time.Duration
		d, err = time.ParseDuration(value)
		for i := range s.Sites {
			s.Sites[i].Refresh.Duration = d
		}
	case "spread":
		var x float64
		if number(&x); err == nil {
			err = s.speeds(x)
		}
	default:
		var names []string
		for _, k := range Keys() {
			names = append(names, k[0])
		}
		return wrong(key, "cannot be varied; %s can", strings.Join(names, ", "))
	}
	if err != nil {
		return wrong(key, "%q: %w", value, err)
	}
	return nil
}

// speeds sets the sites' speeds from slow to fast in their order, each the same
// factor above the one before, around 1.
func (s *Scenario) speeds(spread float64) error {
	if !(spread >= 1 && spread <= 1000) {
		return errors.New("want a factor from 1 to 1000")
	}
	for i := range s.Sites {
		s.Sites[i].Speed = math.Pow(spread, float64(i)/float64(max(1, len(s.Sites)-1))-0.5)
	}
	return nil
}

// Vary plays the scenario for every value; options gives those of one value.
func (s *Scenario) Vary(ctx context.Context, key string, values []string, options func(*Scenario, string) (Options, error)) (*Variation, error) {
	v := &Variation{Key: key}
	all := make([]*Scenario, len(values)) // a wrong value is told before the first is played
	for i, value := range values {
		var err error
		if all[i], err = s.With(key, value); err != nil {
			return nil, err
		}
	}
	for i, c := range all {
		o, err := options(c, values[i])
		if err != nil {
			return nil, err
		}
		r, err := c.Compare(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", key, values[i], err)
		}
		v.Points = append(v.Points, Varied{Value: values[i], Winner: r.Winner(), Result: r})
	}
	return v, nil
}

// Undone says whether a policy leaves too many jobs undone to be compared by waits, which are those of jobs that ran: a
// hundredth of all more than the one that leaves least.
func (r *Result) Undone(policy int) bool {
	all := 0
	for _, run := range r.Runs {
		all = max(all, run.Jobs+run.Failed+run.Unplaced)
	}
	left := func(i int) float64 {
		f := r.Policies[i].Figures
		return f["unplaced"].Mean + f["failed"].Mean
	}
	least := left(policy)
	for i := range r.Policies {
		least = min(least, left(i))
	}
	return left(policy) > least+float64(all)/100
}

// Winner finds the policy with the least mean wait, the oracle aside and those that leave more jobs undone than others.
func (r *Result) Winner() (w Winner) {
	first, second := -1, -1
	wait := func(i int) float64 { return r.Policies[i].Figures["wait_mean"].Mean }
	for i, p := range r.Policies {
		switch {
		case p.Policy == Oracle || r.Undone(i):
		case first < 0 || wait(i) < wait(first):
			first, second = i, first
		case second < 0 || wait(i) < wait(second):
			second = i
		}
	}
	if first < 0 {
		return w
	}
	w.Policy = r.Policies[first].Policy
	if second >= 0 {
		diffs := make([]float64, r.Scenario.Seeds)
		for k := range diffs {
			diffs[k] = r.Runs[second*len(diffs)+k].MeanWait - r.Runs[first*len(diffs)+k].MeanWait
		}
		mean, half := interval(diffs)
		w.Second, w.Sure = r.Policies[second].Policy, half > 0 && mean > half
	}
	return w
}
